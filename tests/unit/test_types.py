"""Which partition of an internal topic owns a name: the one that Java's ``String.hashCode`` says, however long the
name is.
"""

from __future__ import annotations

import sys
from random import Random
from types import FrameType
from typing import Any

import pytest

from oncelog.types import java_hash_partition, java_hash_partition_of_parts

LONGEST = 32_767
PARTITIONS = 2**31
ALPHABETS = ("x", "ab", "\0é\uffff", "\ud800a", "€𝄞")


def hashed(name: str) -> int:
    units = name.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2], "big")) % 2**32
    value -= 2**32 * (value >= 2**31)
    return 0 if value == -(2**31) else abs(value)


def test_known_java_hashes_are_computed() -> None:
    assert java_hash_partition("", PARTITIONS) == 0
    assert java_hash_partition("hello", PARTITIONS) == 99_162_322
    assert java_hash_partition("polygenelubricants", PARTITIONS) == 0  # the smallest number


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_names_of_all_lengths_are_hashed_as_by_java(alphabet: str) -> None:
    rng = Random(len(alphabet))
    for length in (*range(120, 200), *(rng.randrange(200, 3000) for _ in range(20)), LONGEST):
        name = "".join(rng.choices(alphabet, k=length))
        assert java_hash_partition(name, PARTITIONS) == hashed(name), (alphabet, length)


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_a_name_in_two_parts_is_hashed_as_the_whole(alphabet: str) -> None:
    assert java_hash_partition_of_parts("polygene", "lubricants", PARTITIONS) == 0
    rng = Random(len(alphabet))
    for length in (*range(140), 1000):
        beginning, end = "".join(rng.choices(alphabet, k=length)), str(rng.randrange(10_000))
        assert java_hash_partition_of_parts(beginning, end, PARTITIONS) == hashed(beginning + end)


def test_hashing_a_long_name_does_not_loop_over_its_characters() -> None:
    """A request contains hundreds of them, and everybody else waits meanwhile."""
    lines = 0

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        java_hash_partition("y" * LONGEST, PARTITIONS)
    finally:
        sys.settrace(before)
    assert 0 < lines < LONGEST // 5
