"""Mutations without a coverage tool: what a fuzzer does to bytes, drawn from a seed so that a run can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

EDGES = (0, 1, 2, 0x3F, 0x40, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
NUMBERS = (0, 1, 2, 3, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63)
MAX_CHANGES = 5

Change = Callable[[Random, bytearray, Sequence[bytes], Sequence[bytes]], None]


def mutated(random: Random, data: bytes, corpus: Sequence[bytes], tokens: Sequence[bytes], max_bytes: int) -> bytes:
    """``data`` after one to five changes; ``corpus`` and ``tokens`` are what may be spliced in."""
    changed = bytearray(data)
    for _ in range(random.randint(1, MAX_CHANGES)):
        random.choice(CHANGES)(random, changed, corpus, tokens)
    return bytes(changed[:max_bytes])


def _place(random: Random, data: bytearray) -> int:
    return random.randrange(len(data) + 1)


def _flip(random: Random, data: bytearray, _corpus: Sequence[bytes], _tokens: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _set(random: Random, data: bytearray, _corpus: Sequence[bytes], _tokens: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] = random.choice(EDGES) if random.getrandbits(1) else random.randrange(256)


def _number(random: Random, data: bytearray, _corpus: Sequence[bytes], _tokens: Sequence[bytes]) -> None:
    """A big-endian number of 2, 4 or 8 bytes: an edge value, or the present one plus or minus a little."""
    size = random.choice((2, 4, 8))
    if len(data) < size:
        return
    place = random.randrange(len(data) - size + 1)
    there = int.from_bytes(data[place : place + size], "big")
    value = random.choice(NUMBERS) if random.getrandbits(1) else there + random.randint(-3, 3)
    data[place : place + size] = (value % (1 << 8 * size)).to_bytes(size, "big")


def _insert(random: Random, data: bytearray, _corpus: Sequence[bytes], _tokens: Sequence[bytes]) -> None:
    place = _place(random, data)
    data[place:place] = random.randbytes(random.choice((1, 1, 2, 4, 17)))


def _delete(random: Random, data: bytearray, _corpus: Sequence[bytes], _tokens: Sequence[bytes]) -> None:
    place = _place(random, data)
    del data[place : place + random.choice((1, 1, 2, 4, 16, 64))]


def _cut(random: Random, data: bytearray, _corpus: Sequence[bytes], _tokens: Sequence[bytes]) -> None:
    del data[_place(random, data) :]


def _repeat(random: Random, data: bytearray, _corpus: Sequence[bytes], _tokens: Sequence[bytes]) -> None:
    start = _place(random, data)
    data[start:start] = data[start : start + random.choice((1, 4, 16, 64))] * random.choice((1, 2, 30))


def _splice(random: Random, data: bytearray, corpus: Sequence[bytes], _tokens: Sequence[bytes]) -> None:
    if corpus:
        other = random.choice(corpus)
        start = random.randrange(len(other) + 1)
        data[_place(random, data) :] = other[start:]


def _token(random: Random, data: bytearray, _corpus: Sequence[bytes], tokens: Sequence[bytes]) -> None:
    if tokens:
        place = _place(random, data)
        token = random.choice(tokens)
        data[place : place + random.choice((0, len(token)))] = token


CHANGES: tuple[Change, ...] = (_flip, _set, _set, _number, _number, _insert, _delete, _cut, _repeat, _splice, _token)
