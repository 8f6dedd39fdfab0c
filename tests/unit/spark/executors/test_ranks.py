"""Keys that bring rows to chosen tasks: the hash is Spark's."""

from __future__ import annotations

import pytest

from oncelog.spark.executors.ranks import hash_of, keys_of_ranks


def test_the_hash_equals_sparks() -> None:
    """``SELECT hash(id) FROM range(5)`` on Spark 3.5.9."""
    assert [hash_of(number) for number in range(5)] == [933211791, -559580957, 1765031574, -1823081949, -397064898]


@pytest.mark.parametrize("ranks", [1, 2, 7, 64, 1000])
def test_each_writer_rank_has_a_key_that_spark_hashes_to_its_partition(ranks: int) -> None:
    keys = keys_of_ranks(ranks)
    assert [hash_of(key) % ranks for key in keys] == list(range(ranks))
