"""Each fault, made by hand in an otherwise sound log, is found under its name; nothing else is."""

from __future__ import annotations

import pytest

from oncelog.apps.verify.decisions import TransactionOutcome
from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.outcomes import Ended, Outcomes
from oncelog.apps.verify.partition_check import PartitionCheck, Writers
from oncelog.records.batch import (
    CONTROL_BIT,
    TRANSACTIONAL_BIT,
    TimestampType,
    encode_pairs,
    read_header,
    set_timestamps,
)
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition
from tests.support.broken_logs import ALLOWED, BROKEN, DAY_MS, PLAIN, TXN
from tests.support.made_logs import T0, Judged, P, data, judge, judged, marker

COMPACTED = Expected(compacted=True)


@pytest.mark.parametrize("name", BROKEN)
def test_each_fault_of_a_log_is_reported_by_name(name: str) -> None:
    wanted, log = BROKEN[name]
    assert judge(log).found == wanted


def test_a_wrong_timestamp_is_found() -> None:
    batch = bytearray(data(0, append_time=True))
    assert judge([bytes(batch)]).found == []
    changed = bytearray(data(0))
    set_timestamps(changed, 0, TimestampType.CREATE_TIME, T0 + 5)
    assert judge([bytes(changed)]).found == ["timestamp-mismatch"]


def test_a_control_record_that_is_not_a_marker_is_found() -> None:
    bits = CONTROL_BIT | TRANSACTIONAL_BIT
    short = encode_pairs(((b"\0\0\0\1", b"\0"),), T0, bits, 1, 0, 0, 0)
    two = encode_pairs(((b"\0\0\0\1", b"\0" * 6), (b"\0\0\0\1", b"\0" * 6)), T0, bits, 1, 0, 0, 0)
    nobody = encode_pairs(((b"\0\0\0\1", b"\0" * 6),), T0, CONTROL_BIT, -1, -1, 0, 0)
    for wrong in (short, two, nobody):
        assert judge([bytes(wrong)]).found == ["malformed-marker"]
    later = encode_pairs(((b"\0\0\0\x63", b""),), T0, CONTROL_BIT, -1, -1, 0, 0)
    assert judge([bytes(later)])[:3] == ([], [], ["unknown-control-record"])


# --- two partitions


def test_a_torn_transaction_whose_epoch_no_other_transaction_has_is_found() -> None:
    committed = [TXN, marker(1, pid=1, epoch=1)]
    aborted = [TXN, marker(1, pid=1, epoch=1, commit=False, at=T0 + 60_000)]
    reported = judge(committed, aborted)
    assert reported.found == ["torn-transaction"]
    (found,) = reported.report.findings()
    assert (found.first_offset, found.last_offset, found.producer_id, found.producer_epoch) == (0, 1, 1, 0)
    assert "made-0" in found.detail
    by_operator = [TXN, marker(1, pid=1, epoch=0, commit=False)]  # WriteTxnMarkers with the epoch that is known
    assert judge(committed, by_operator).found == ["torn-transaction"]


def test_a_torn_transaction_of_the_older_protocol_is_found_if_both_parts_were_open_at_once() -> None:
    def part(begin: int, end: int, at: int, commit: bool) -> list[bytes]:
        return [
            data(0, pid=1, seq=0, txn=True, at=T0 + begin),
            data(1, pid=1, seq=1, txn=True, at=T0 + end),
            marker(2, pid=1, commit=commit, at=T0 + at),
        ]

    assert judge(part(0, 40, 50, True), part(10, 30, 55, False)).found == ["torn-transaction"]
    assert judge(part(0, 0, 50, True), part(0, 0, 51, False)).found == ["torn-transaction"]
    one_after_the_other = judge(part(0, 40, 50, True), part(60, 90, 100, False))
    assert one_after_the_other[:3] == ([], [], [])
    stamped_before_the_marker = judge(part(0, 40, 50, True), part(45, 90, 100, False))
    assert stamped_before_the_marker[:3] == ([], [], ["outcomes-differ"])


def test_equal_timestamps_with_different_markers_are_a_torn_transaction_unless_a_marker_follows_at_once() -> None:
    def part(at: int, commit: bool) -> list[bytes]:
        return [data(0, pid=1, seq=0, txn=True), marker(1, pid=1, commit=commit, at=T0 + at)]

    assert judge(part(40, True), part(90, False)).found == ["torn-transaction"]
    assert judge(part(1, True), part(90, False))[:3] == ([], [], ["outcomes-differ"])


def test_the_coordinators_record_decides_the_outcome() -> None:
    first, second = TopicPartition("made", 0), TopicPartition("made", 1)
    ends = [
        Ended(first, 1, 0, 0, True, 0, 1, T0, T0, T0 + 40),
        Ended(second, 1, 0, 0, False, 0, 1, T0 + 30, T0 + 30, T0 + 95),
    ]
    commit, abort = (TransactionOutcome(1, True, T0 + 30, (first,)), TransactionOutcome(1, False, T0 + 60, (second,)))
    torn = TransactionOutcome(1, True, T0 + 30, (first, second))

    def judged_with(*decisions: TransactionOutcome) -> Judged:
        report, outcomes = Report(), Outcomes()
        for end in ends:
            outcomes.add(end)
        assert outcomes.in_doubt() == {1}
        outcomes.decide(decisions)
        outcomes.judge(report)
        outcomes.close()
        return judged(report)

    assert judged_with(commit, abort)[:3] == ([], [], [])
    assert judged_with(torn).found == ["torn-transaction"]
    assert judged_with(commit)[:3] == ([], [], ["outcomes-differ"])
    assert judged_with()[:3] == ([], [], ["outcomes-differ"])


def test_non_transactional_records_of_a_transactional_producer_are_found() -> None:
    assert judge([TXN, marker(1, pid=1)], [data(0, pid=1, seq=0)]).found == ["outside-transaction"]


# --- compaction


def test_a_reappearing_key_is_found_below_the_cleaner_checkpoint() -> None:
    twice = [data(0, keys=[b"a"]), data(1, keys=[b"a"])]
    assert judge(twice, expected=COMPACTED).found == []
    assert judge([*twice, data(5)], expected=COMPACTED).found == ["key-came-back"]
    assert judge([*twice, data(2, count=1, last=3)], expected=COMPACTED).found == ["key-came-back"]
    assert judge(twice, expected=Expected(compacted=True, clean_to=2)).found == ["key-came-back"]
    assert judge([data(0), data(3, keys=[b"a"]), data(4, keys=[b"a"])], expected=COMPACTED).found == []


def test_a_key_removed_meanwhile_is_not_a_finding() -> None:
    report, outcomes = Report(), Outcomes()
    check = PartitionCheck(P, COMPACTED, report, outcomes)
    for batch in (data(0, keys=[b"a", b"b"], count=2), data(2, keys=[b"a", b"b"], count=2), data(9)):
        check.take(read_header(batch), batch)
    assert [(twice.key, twice.earlier, twice.later) for twice in check.came_back()] == [(b"a", 0, 2), (b"b", 1, 3)]
    del check.came_back()[0]
    check.end(Writers())
    outcomes.close()
    assert [found.first_offset for found in report.findings()] == [1]


def test_a_key_of_an_aborted_transaction_is_not_a_finding() -> None:
    def log(commit: bool) -> list[bytes]:
        return [
            data(0, keys=[b"a"]),
            data(1, pid=1, seq=0, txn=True, keys=[b"a"]),
            marker(2, pid=1, commit=commit),
            data(9),
        ]

    assert judge(log(commit=False), expected=COMPACTED).found == []
    assert judge(log(commit=True), expected=COMPACTED).found == ["key-came-back"]


def test_missing_sequences_are_a_finding_where_no_offset_is_missing() -> None:
    compacted = [PLAIN, data(9, pid=1, seq=9)]
    assert judge(compacted, expected=COMPACTED)[:3] == ([], [], ["sequence-hole-compacted"])
    only_the_marker_is_left = [marker(1, pid=1), data(2, pid=1, seq=1, txn=True), marker(3, pid=1)]
    assert judge(only_the_marker_is_left, expected=COMPACTED).found == []
    beyond_the_cleaner = [data(0), data(9, pid=1, seq=9), data(10, pid=1, seq=20)]
    assert judge(beyond_the_cleaner, expected=COMPACTED).found == ["sequence-gap"]


# --- what Kafka allows


@pytest.mark.parametrize("name", ALLOWED)
def test_findings_that_kafka_allows_are_reported_as_allowed(name: str) -> None:
    reported, log = ALLOWED[name]
    assert judge(log)[:3] == ([], [], reported)


def test_timestamps_of_other_producers_do_not_make_a_producer_expire() -> None:
    replay = [PLAIN, data(3, at=T0 + 9 * DAY_MS), data(4, pid=1, seq=9)]
    assert judge(replay).found == ["sequence-gap"]


def test_losses_of_an_unclean_election_are_allowed_if_the_topic_permits_elections() -> None:
    log = [PLAIN, data(3, pid=1, seq=8, leader=1)]
    assert judge(log).found == ["sequence-gap"]
    permitted = Expected(unclean_elections=True)
    assert judge(log, expected=permitted)[:3] == ([], [], ["unclean-election"])
    same_leader = [PLAIN, data(3, pid=1, seq=8)]
    assert judge(same_leader, expected=permitted).found == ["sequence-gap"]


def test_offsets_committed_in_transactions_have_no_sequences() -> None:
    report = Report()
    check = PartitionCheck(TopicPartition(CONSUMER_OFFSETS_TOPIC, 0), COMPACTED, report, Outcomes())
    for batch in (data(0, pid=1, txn=True), data(1, pid=1, txn=True), marker(2, pid=1)):
        check.take(read_header(batch), batch)
    assert report.counts == {}
    assert report.totals.records == 2


def test_findings_show_few_examples_and_count_all() -> None:
    reported = judge([data(2 * number) for number in range(100)])
    assert reported.report.counts == {"offset-gap": 99}
    assert len(list(reported.report.findings())) == 10
