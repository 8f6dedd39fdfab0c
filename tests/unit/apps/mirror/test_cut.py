"""The cases that a cut must get right, one by one. Random ones: ``tests/property/test_mirror_cut.py``."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.apps.mirror.cut import CutSample, PartitionView, choose_cut
from oncelog.types import TopicPartition

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)
PRODUCER, OTHER = 1, 2


def view(name: TopicPartition, *entries: tuple[int, int] | tuple[int, int, str] | None) -> PartitionView:
    """Producer and epoch of each batch, with a third member for a marker; None is a plain record."""
    made = PartitionView(name, 0)
    for offset, entry in enumerate(entries):
        made.take_data(offset, offset + 1, 100)
        if entry is None:
            continue
        if len(entry) == 3:
            made.take_marker(entry[0], entry[1], offset)
        else:
            made.take_transactional(*entry, offset, offset)
    return made


def cut(
    p: PartitionView, q: PartitionView, decided: tuple[int, int], samples: Sequence[CutSample] = ()
) -> tuple[int, int]:
    looked = {P: decided[0], Q: decided[1]}
    found = choose_cut({P: p, Q: q}, looked, looked, samples)
    return found[P], found[Q]


def sample(before: tuple[int, int], after: tuple[int, int] | None = None) -> CutSample:
    return CutSample(dict(zip((P, Q), before, strict=True)), dict(zip((P, Q), after or before, strict=True)))


def test_a_transaction_that_ended_on_only_one_of_its_partitions_is_left_out_of_both() -> None:
    here = view(P, None, (PRODUCER, 0), (PRODUCER, 1, "commit"))
    there = view(Q, (PRODUCER, 0), None)
    assert cut(here, there, (3, 2)) == (1, 0)


def test_a_transaction_with_a_record_above_the_first_sample_is_left_out() -> None:
    here = view(P, (PRODUCER, 0), (PRODUCER, 1, "commit"))
    there = view(Q, None, (PRODUCER, 0), (PRODUCER, 1, "commit"))
    assert cut(here, there, (2, 1)) == (0, 1)


def test_a_transaction_decided_after_the_first_sample_is_left_out() -> None:
    """It may have records that the second look did not see, because they were written meanwhile."""
    here = view(P, (PRODUCER, 0), (PRODUCER, 1, "commit"))
    there = view(Q, None)
    assert cut(here, there, (1, 1)) == (0, 1)


def test_transactions_that_a_lowered_cut_would_split_are_left_out_as_well() -> None:
    here = view(P, (PRODUCER, 0), (OTHER, 0), (PRODUCER, 0), (PRODUCER, 1, "commit"))
    there = view(Q, None, (PRODUCER, 0), (PRODUCER, 1, "commit"))
    assert cut(here, there, (4, 3)) == (0, 1)


def test_transactions_of_the_newer_protocol_need_no_consistent_sample() -> None:
    here = view(P, (PRODUCER, 0), (PRODUCER, 1, "commit"), (PRODUCER, 1), (PRODUCER, 2, "commit"), (PRODUCER, 2))
    there = view(Q, (PRODUCER, 0), (PRODUCER, 1, "commit"), (PRODUCER, 1), (PRODUCER, 2, "commit"))
    assert cut(here, there, (5, 4)) == (4, 4)


def test_transactions_of_the_older_protocol_wait_for_a_consistent_sample() -> None:
    here = view(P, (PRODUCER, 0), (PRODUCER, 0, "commit"), (PRODUCER, 0))
    there = view(Q, (PRODUCER, 0), (PRODUCER, 0, "commit"))
    assert cut(here, there, (3, 2)) == (0, 0)
    assert cut(here, there, (3, 2), [sample((3, 2))]) == (0, 0), "open here, over there: which one was that?"
    assert cut(here, there, (3, 2), [sample((2, 2))]) == (2, 2), "open nowhere"
    assert cut(here, there, (3, 2), [sample((2, 1), (2, 2))]) == (0, 0), "it wrote between the looks"


def test_a_sample_in_which_a_transaction_is_open_on_all_its_partitions_is_consistent() -> None:
    here = view(P, (PRODUCER, 0), (PRODUCER, 0, "commit"), (PRODUCER, 0))
    there = view(Q, (PRODUCER, 0), (PRODUCER, 0, "commit"), (PRODUCER, 0))
    assert cut(here, there, (3, 3), [sample((3, 3))]) == (2, 2)


def test_a_sample_that_lacks_one_of_the_partitions_is_not_consistent() -> None:
    here = view(P, (PRODUCER, 0), (PRODUCER, 0, "commit"), None)
    there = view(Q, (PRODUCER, 0), (PRODUCER, 0, "commit"))
    assert cut(here, there, (3, 2), [CutSample({P: 3}, {P: 3})]) == (0, 0)


def test_a_single_partition_of_the_older_protocol_can_be_cut_at_every_marker() -> None:
    here = view(P, (PRODUCER, 0), (PRODUCER, 0, "commit"), (PRODUCER, 0))
    assert cut(here, view(Q, None), (3, 1)) == (2, 1)


def test_a_group_offset_waits_until_the_records_before_it_are_mirrored() -> None:
    offsets, records = view(P, None, None), view(Q, None, (PRODUCER, 0), None)
    offsets.take_need(1, Q, 2)
    assert cut(offsets, records, (2, 3)) == (1, 1)
    offsets.needs.clear()
    offsets.take_need(1, Q, 1)
    assert cut(offsets, records, (2, 3)) == (2, 1)


def test_a_group_offset_beyond_the_end_does_not_delay_the_mirror() -> None:
    offsets, records = view(P, None), view(Q, None)
    offsets.take_need(0, Q, 99)
    assert cut(offsets, records, (1, 1)) == (1, 1)


def test_a_marker_removed_by_compaction_is_inferred_from_the_last_stable_offset() -> None:
    here = view(P, (PRODUCER, 0), None)
    assert cut(here, view(Q), (2, 0)) == (0, 0)
    here.settle(2)
    assert cut(here, view(Q), (2, 0)) == (2, 0)
