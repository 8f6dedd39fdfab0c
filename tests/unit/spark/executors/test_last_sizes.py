"""Whether the next batch of a sink is expected to be small, and how much each task may then return."""

from __future__ import annotations

from oncelog.spark.executors.collected import ALL_BYTES, EXPECTED_BYTES, BatchSize, LastSizes, Share


def test_nothing_is_expected_of_a_sink_that_is_not_known() -> None:
    sizes = LastSizes()
    sizes.note("known", BatchSize(2, 10, 1000))
    assert sizes.share("unknown") is None
    sizes.forget("known")
    assert sizes.share("known") is None


def test_a_batch_after_a_large_one_is_not_expected_to_be_small() -> None:
    sizes = LastSizes()
    sizes.note("q", BatchSize(2, 10, EXPECTED_BYTES))
    assert sizes.share("q") is not None
    sizes.note("q", BatchSize(2, 10, EXPECTED_BYTES + 1))
    assert sizes.share("q") is None


def test_tasks_share_a_bound_and_rows_may_be_a_few_times_as_large() -> None:
    sizes = LastSizes()
    sizes.note("q", BatchSize(200, 4000, 400_000))
    assert sizes.share("q") == Share(ALL_BYTES // (256 * 128), 16 * 128)


def test_batches_that_differ_little_have_one_share() -> None:
    """Spark compiles a query again if a constant in it is another one."""
    sizes, shares = LastSizes(), set()
    for rows in range(150, 250, 7):
        sizes.note("q", BatchSize(2, rows, rows * 90))
        shares.add(sizes.share("q"))
    assert len(shares) == 1


def test_an_empty_batch_and_one_of_huge_rows_have_a_share() -> None:
    sizes = LastSizes()
    sizes.note("empty", BatchSize(0, 0, 0))
    sizes.note("huge", BatchSize(4000, 1, EXPECTED_BYTES))
    assert sizes.share("empty") == Share(1 << 17, 1024)
    assert sizes.share("huge") == Share(1, 16 * EXPECTED_BYTES)


def test_old_sinks_are_forgotten() -> None:
    sizes = LastSizes()
    for number in range(LastSizes.MAX_SINKS + 1):
        sizes.note(str(number), BatchSize(1, 1, 1))
    assert sizes.share("0") is None
    assert sizes.share("1") is not None
