"""Random damage to files: what cards, cables, editors and transfers do to bytes."""

from collections.abc import Callable

import numpy as np

Damage = Callable[[bytes, np.random.Generator], bytes]

TOKENS = (
    b"nan", b"inf", b"ovf", b"1e308", b"4.9e-324", b"4294967295", b'"1,023"', b"", b"--", b"0x1F", b"1_000",
    b"\xb2", b"\xd9\xa1", b"1,5", b";", b"\t", b'"', b"\r", b"NO2", b"timestamp_ms", b"NO2:27,CO:31", b"\x1a",
)  # fmt: skip


def _place(raw: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(0, len(raw) + 1))


def _span(raw: bytes, rng: np.random.Generator, longest: int = 400) -> slice:
    start = _place(raw, rng)
    return slice(start, start + int(rng.integers(1, longest)))


def flip(raw: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(raw)
    for at in rng.integers(0, max(len(raw), 1), int(rng.integers(1, 6))):
        if damaged:
            damaged[at] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def cut(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw[: _place(raw, rng)]


def behead(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw[_place(raw, rng) :]


def drop(raw: bytes, rng: np.random.Generator) -> bytes:
    span = _span(raw, rng)
    return raw[: span.start] + raw[span.stop :]


def repeat(raw: bytes, rng: np.random.Generator) -> bytes:
    span = _span(raw, rng)
    return raw[: span.stop] + raw[span] + raw[span.stop :]


def blank(raw: bytes, rng: np.random.Generator) -> bytes:
    span = _span(raw, rng)
    return raw[: span.start] + bytes(len(raw[span])) + raw[span.stop :]


def noise(raw: bytes, rng: np.random.Generator) -> bytes:
    at = _place(raw, rng)
    return raw[:at] + rng.bytes(int(rng.integers(1, 40))) + raw[at:]


def token(raw: bytes, rng: np.random.Generator) -> bytes:
    at = _place(raw, rng)
    return raw[:at] + TOKENS[int(rng.integers(len(TOKENS)))] + raw[at:]


def field(raw: bytes, rng: np.random.Generator) -> bytes:
    fields = raw.split(b",")
    fields[int(rng.integers(len(fields)))] = TOKENS[int(rng.integers(len(TOKENS)))]
    return b",".join(fields)


def shuffle(raw: bytes, rng: np.random.Generator) -> bytes:
    lines = raw.split(b"\n")
    i, j = rng.integers(0, len(lines), 2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def replace(raw: bytes, rng: np.random.Generator) -> bytes:
    old, new = [(b",", b";"), (b".", b","), (b"\n", b"\r"), (b",", b", "), (b"\n", b"\n\n"), (b"0", b"O")][
        int(rng.integers(6))
    ]
    return raw.replace(old, new)


def encode(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw.decode("latin-1").encode(("utf-16", "utf-16-le", "utf-16-be", "utf-32")[int(rng.integers(4))])


DAMAGES: tuple[Damage, ...] = (
    flip, cut, behead, drop, repeat, blank, noise, token, field, shuffle, replace, encode,
)  # fmt: skip


def mutate(raw: bytes, rng: np.random.Generator) -> bytes:
    """One to three kinds of damage, one after the other."""
    for _ in range(int(rng.integers(1, 4))):
        raw = DAMAGES[int(rng.integers(len(DAMAGES)))](raw, rng)
    return raw
