"""Whether the next batch of a sink is expected to be small, and how much each task may then return."""

from __future__ import annotations

from oncelog.spark.executors.barrier import BatchSize
from oncelog.spark.executors.collected import ALL_BYTES, EXPECTED_BYTES, LastSizes, Share


def share_after(size: BatchSize) -> Share | None:
    sizes = LastSizes()
    sizes.note("q", size)
    return sizes.take_share("q")


def test_no_batch_size_is_expected_for_an_unknown_sink_or_after_a_failed_batch() -> None:
    sizes = LastSizes()
    sizes.note("known", BatchSize(2, 10, 2000, 1000))
    assert sizes.take_share("unknown") is None
    assert sizes.take_share("known") is not None
    assert sizes.take_share("known") is None


def test_a_batch_after_a_large_batch_is_not_expected_to_be_small() -> None:
    assert share_after(BatchSize(2, 10, 10, EXPECTED_BYTES)) is not None
    assert share_after(BatchSize(2, 10, 10, EXPECTED_BYTES + 1)) is None


def test_tasks_share_a_bound_on_returned_bytes() -> None:
    assert share_after(BatchSize(200, 4000, 400_000, 400_000)) == Share(ALL_BYTES // (256 * 128), 16 * 128)


def test_rows_that_compress_well_return_no_more_than_others() -> None:
    """The bound is on what tasks return, which is not compressed: a driver has little memory."""
    assert share_after(BatchSize(200, 4000, 4_000_000, 40_000)) == Share(ALL_BYTES // (256 * 1024), 16 * 1024)


def test_batches_of_similar_size_get_the_same_share() -> None:
    """Spark compiles a query again if a constant in it is another one."""
    assert len({share_after(BatchSize(2, rows, rows * 90, rows * 50)) for rows in range(150, 250, 7)}) == 1


def test_an_empty_batch_and_a_batch_of_huge_rows_get_a_share() -> None:
    assert share_after(BatchSize(0, 0, 0, 0)) == Share(1 << 17, 1024)
    huge = share_after(BatchSize(4000, 1, EXPECTED_BYTES, EXPECTED_BYTES))
    assert huge == Share(1, 16 * EXPECTED_BYTES)


def test_the_expected_size_of_the_oldest_sink_is_forgotten() -> None:
    sizes = LastSizes()
    for number in range(LastSizes.MAX_SINKS + 1):
        sizes.note(str(number), BatchSize(1, 1, 1, 1))
    assert sizes.take_share("0") is None
    assert sizes.take_share("1") is not None
