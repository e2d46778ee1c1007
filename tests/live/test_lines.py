"""Every line of a board is a sample, a rejected line with a known reason, or nothing; none is fatal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.faults import FAULTS, NAMES, damaged, protocol_line, sound_line
from unmixnet.live import lines
from unmixnet.live.lines import REASONS, LineParser, ProtocolLine, crc16, read_protocol
from unmixnet.live.sample import Rejected, Sample


def parsed(*raw: bytes | str) -> list:
    """What a fresh parser says of lines that come a tenth of a second apart."""
    parser = LineParser()
    return [parser.parse(line.encode() if isinstance(line, str) else line, i / 10) for i, line in enumerate(raw)]


def reasons(*raw: bytes | str) -> list[str | None]:
    return [item.reason if isinstance(item, Rejected) else None for item in parsed(*raw)]


# ---------------------------------------------------------------- our protocol


def test_the_checksum_is_that_of_the_catalogue():
    assert crc16("123456789") == 0x29B1


def test_a_line_of_our_protocol_is_a_sample_at_once():
    line = protocol_line(17, 1700, {"MOX1": 312, "MOX2": 287.5})
    parser = LineParser()
    assert parser.parse(line.encode() + b"\r", 0.0) == Sample(0.0, (312.0, 287.5))
    assert parser.channels == ("MOX1", "MOX2")


@given(st.lists(st.floats(-1e9, 1e9), min_size=4, max_size=4), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_what_the_protocol_writes_it_reads(values, sequence, millis):
    line = protocol_line(sequence, millis, dict(zip(NAMES, values, strict=True)))
    parsed = read_protocol(line)
    assert parsed is not None and parsed.sound and (parsed.sequence, parsed.millis) == (sequence, millis)
    assert [float(text) for _, text in parsed.readings] == pytest.approx(values, rel=1e-9)


@given(st.integers(0, 8 * len(sound_line(7)) - 1))
def test_one_flipped_bit_never_changes_a_reading(bit):
    line = bytearray(sound_line(7))
    line[bit // 8] ^= 1 << bit % 8
    item = LineParser().parse(bytes(line), 0.0)
    # a checksum in lower case is the same checksum
    assert not isinstance(item, Sample) or item == LineParser().parse(sound_line(7), 0.0)


def test_twin_without_the_checksum_a_flipped_bit_is_stored(monkeypatch):
    def trusting(line: str) -> ProtocolLine | None:
        parsed = read_protocol(line)
        return parsed and ProtocolLine(parsed.sequence, parsed.millis, parsed.readings, sound=True)

    monkeypatch.setattr(lines, "read_protocol", trusting)
    item = LineParser().parse(sound_line(7).replace(b"=201", b"=211"), 0.0)
    assert isinstance(item, Sample) and 211.0 in item.values


def test_sequence_numbers_tell_what_was_missed_and_what_came_twice():
    parser = LineParser()
    items = [parser.parse(sound_line(n), 0.1 * i) for i, n in enumerate([5, 6, 6, 9, 0, 1])]
    assert [isinstance(item, Sample) for item in items] == [True, True, False, True, True, True]
    assert items[2] == Rejected(lines.REPEATED, sound_line(6).decode()) and parser.missed == 2


# ---------------------------------------------------------------- plotter lines and CSV


def test_plotter_lines_need_two_that_agree():
    first, second, third = parsed("NO2:27,C2H5OH:31,VOC:40,CO:12", *["NO2: 28, C2H5OH: 32, VOC: 41, CO: 13"] * 2)
    assert first.reason == lines.NOT_YET
    assert second.values == third.values == (28.0, 32.0, 41.0, 13.0)
    assert (second.time_s, third.time_s) == (0.0, pytest.approx(0.1))


def test_the_first_garbage_line_does_not_name_the_channels():
    parser = LineParser()
    for i, line in enumerate(
        [b"H:31,VOC:40,CO:12", b"NO2:27,C2H5OH:31,VOC:40,CO:12", b"NO2:27,C2H5OH:31,VOC:40,CO:12"]
    ):
        parser.parse(line, i / 10)
    assert parser.channels == ("NO2", "C2H5OH", "VOC", "CO")


def test_a_misspelt_channel_gets_its_one_name():
    parser = LineParser()
    for i in range(2):
        parser.parse(b"NO2:27,C2H5CH:31", i / 10)
    assert parser.channels == ("NO2", "C2H5OH")


def test_a_header_names_the_columns_and_the_clock():
    parser = LineParser()
    items = [parser.parse(line, 0.0) for line in (b"millis,MOX1,MOX2", b"1200,312,287", b"1300,313,288")]
    assert parser.channels == ("MOX1", "MOX2")
    assert items == [None, Sample(0.0, (312.0, 287.0)), Sample(0.1, (313.0, 288.0))]


def test_a_board_that_talks_before_it_prints_has_no_header():
    parser = LineParser()
    for i, line in enumerate([b"Heating sensors, please wait", b"1,2,3", b"1,2,3"]):
        item = parser.parse(line, i / 10)
    assert parser.channels == ("S1", "S2", "S3") and isinstance(item, Sample)


def test_the_first_row_after_connecting_may_be_cut_and_is_not_stored():
    parser = LineParser()
    for i in range(3):
        parser.parse(b"127,31", i / 10)
    parser.connected()
    cut = parser.parse(b"7,31", 0.4)
    assert isinstance(cut, Rejected) and cut.reason == lines.CUT
    assert isinstance(parser.parse(b"127,31", 0.5), Sample)


def test_twin_a_cut_row_looks_sound_to_a_parser_that_was_not_told():
    assert isinstance(parsed("127,31", "127,31", "127,31", "7,31")[-1], Sample)


def test_channels_never_change():
    agreed = ["NO2:1,CO:2"] * 2
    strangers = ["NO2:1,VOC:2", "CO:2,NO2:1", "1,2", "A,B", sound_line(3)]
    assert set(reasons(*agreed, *strangers)[2:]) == {lines.OTHER_CHANNELS}


def test_no_reading_is_nan_and_the_others_of_the_row_are_kept():
    *_, item = parsed("A:1,B:2", "A:1,B:2", "A:nan,B:2", "A:ovf,B:1e99")
    assert isinstance(item, Sample) and all(math.isnan(value) for value in item.values)
    assert reasons("A:1,B:2", "A:1,B:2", "A:,B:2", "A:1x,B:2")[2:] == [lines.NOT_A_NUMBER] * 2


@pytest.mark.parametrize("blank", [b"", b"\r", b"   ", b"# a comment"])
def test_blank_lines_and_comments_are_nothing(blank):
    assert parsed(blank) == [None]


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+A", "-A", "@A", 'A"B', "x" * 41])
def test_names_that_a_spreadsheet_would_run_or_a_header_cannot_carry_are_refused(name):
    assert reasons(*[f"{name}:1,CO:2"] * 3) == [lines.NOT_YET, lines.BAD_NAME, lines.BAD_NAME]


def test_names_of_scripts_stay_text():
    parser = LineParser()
    parser.parse(protocol_line(0, 0, {"<script>alert(1)</script>": 1.0}).encode(), 0.0)
    assert parser.channels == ("<script>alert(1)</script>",)


# ---------------------------------------------------------------- faults


@given(st.lists(st.binary(max_size=80), min_size=4, max_size=4))
def test_any_bytes_are_a_sample_a_known_rejection_or_nothing(raw):
    for item in parsed(*raw):
        assert item is None or isinstance(item, Sample) or item.reason in REASONS


@pytest.mark.parametrize("form", ["protocol", "plotter", "csv"])
def test_a_thousand_faults_are_counted_and_none_is_fatal(form):
    rng, parser = np.random.default_rng(3), LineParser()
    sound = {
        "protocol": sound_line,
        "plotter": lambda n: f"NO2:{n % 1000},C2H5OH:31,VOC:40,CO:12".encode(),
        "csv": lambda n: f"{n % 1000},31,40,12".encode(),
    }[form]
    kept = rejected = 0
    for number in range(3000):
        bad = number > 3 and number % 3 == 2
        item = parser.parse(damaged(sound(number), rng) if bad else sound(number), number / 10)
        assert isinstance(item, Sample | Rejected)
        assert bad or number < 3 or isinstance(item, Sample)
        kept, rejected = kept + isinstance(item, Sample), rejected + isinstance(item, Rejected)
    assert kept + rejected == 3000 and rejected > 500


def test_twin_the_faults_are_faults():
    rng = np.random.default_rng(0)
    spoilt = [not isinstance(parsed(sound_line(1), fault(sound_line(2), rng))[1], Sample) for fault in FAULTS]
    assert sum(spoilt) >= len(FAULTS) - 1


def test_a_rejected_line_is_kept_short():
    assert len(Rejected("x", "y" * 5000).line) == 200


@given(st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=20))
def test_time_never_goes_back_whatever_the_board_counts(millis):
    parser = LineParser()
    items = [parser.parse(protocol_line(i, m, {"A": 1.0}).encode(), i / 10) for i, m in enumerate(millis)]
    times = [item.time_s for item in items if isinstance(item, Sample)]
    assert len(times) == len(millis) and times == sorted(times) and times[0] == 0.0
