"""Bytes become lines, however they are cut, in bounded memory."""

from hypothesis import given
from hypothesis import strategies as st

from unmixnet.live.lines import LONGEST_LINE, Framing


@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=20), st.integers(1, 17))
def test_the_same_lines_however_they_are_cut(lines, size):
    stream, framing = b"".join(line + b"\n" for line in lines), Framing()
    framed = [line for at in range(0, len(stream), size) for line in framing.feed(stream[at : at + size])]
    assert framed == lines


def test_an_endless_line_is_one_line_and_the_next_is_whole():
    framing, framed = Framing(), []
    for _ in range(1000):
        framed += framing.feed(b"x" * 100)
        assert len(framing._rest) <= LONGEST_LINE
    framed += framing.feed(b"x\nnext\n")
    assert [len(line) for line in framed] == [LONGEST_LINE + 1, 4]
