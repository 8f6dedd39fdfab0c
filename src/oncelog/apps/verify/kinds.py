"""The table of all kinds of findings: their names, what each means, and what to do about it. Pure.

A name never changes its meaning, because scripts read it from ``--json``.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple


class Verdict(Enum):
    """``FOUND`` contradicts exactly-once, ``UNKNOWN`` could not be checked, ``ALLOWED`` is unusual but Kafka allows
    it.
    """

    FOUND = "found"
    UNKNOWN = "unknown"
    ALLOWED = "allowed"


class Kind(NamedTuple):
    """One kind of finding."""

    name: str
    verdict: Verdict
    means: str
    todo: str


_RESTORE = "restore the records from another replica, a mirror or their source"
_WRITER = "find out who writes with this producer id: two programs share it, or one bypasses the broker's checks"
_BROKER = "report it to the broker's authors, with oncelog dump-log of these offsets"
_END = "end it: oncelog transactions find-hanging, then abort"
_INDEX = "remove the segment's .txnindex file while the broker is stopped: a start writes it again"
_AGAIN = "run it again"
_DECIDED = f"run it again after the transaction; if it does not end, {_END}"


def _table(verdict: Verdict, *rows: tuple[str, str, str]) -> list[Kind]:
    return [Kind(name, verdict, means, todo) for name, means, todo in rows]


_LOG_FOUND = _table(
    Verdict.FOUND,
    # bytes
    ("crc-mismatch", "The checksum of a batch is not that of its bytes.", _RESTORE),
    ("malformed-batch", "A batch violates the format: header, records or compression cannot be read.", _RESTORE),
    ("malformed-marker", "A control record is not a marker that a coordinator writes.", _BROKER),
    ("timestamp-mismatch", "The largest timestamp of a batch is not that of its records.", _BROKER),
    ("unreadable", "The broker refuses to return a part of the log, because it is damaged.", _RESTORE),
    # offsets
    ("offset-overlap", "A batch repeats offsets of an earlier batch.", _RESTORE),
    (
        "offset-gap",
        "Offsets are missing inside a partition that is not compacted.",
        _RESTORE + "; if the topic was compacted once, say --compacted",
    ),
    (
        "leader-epoch-back",
        "A deposed leader wrote a batch: its leader epoch is smaller than that of an earlier batch.",
        _RESTORE,
    ),
    ("high-watermark-missing", "The log ends before its high watermark.", _RESTORE),
    # producers
    (
        "sequence-gap",
        "Sequence numbers of a producer are missing: the log lacks records that it sent before others.",
        _RESTORE,
    ),
    (
        "sequence-repeat",
        "Sequence numbers of a producer occur twice: its records are duplicated.",
        "remove the repeated records downstream, by the offsets given here",
    ),
    (
        "sequence-start",
        "A new epoch of a producer does not begin with sequence 0: its first records are missing.",
        _RESTORE,
    ),
    ("sequence-missing", "A batch of an idempotent producer has no sequence number.", _WRITER),
    (
        "epoch-back",
        "A fenced producer wrote records: their epoch is older than an earlier one.",
        _WRITER,
    ),
    # transactions
    (
        "plain-in-transaction",
        "A record that is not transactional was written while its producer's transaction was open.",
        _WRITER,
    ),
    ("outside-transaction", "A producer with a transactional id wrote records outside of any transaction.", _WRITER),
    (
        "marker-epoch-back",
        "A marker has an older epoch than its producer: a late one ended a newer transaction.",
        _BROKER,
    ),
    (
        "marker-epoch-wrong",
        "A marker's epoch does not fit the transaction that it ends.",
        _BROKER,
    ),
    (
        "marker-contradicts",
        "A second marker aborts a committed transaction.",
        _BROKER,
    ),
    ("marker-coordinator-back", "A replaced coordinator wrote a marker.", _BROKER),
    (
        "marker-missing",
        "A producer's transaction has no marker here before the next one begins: both end together.",
        "compare with the producer's other partitions: the first transaction may have had another outcome",
    ),
    (
        "torn-transaction",
        "A transaction was committed in one partition and aborted in another.",
        "decide which outcome is right, and correct the other partitions downstream",
    ),
    ("half-ended-transaction", "A transaction has a marker in one partition and none in another.", _END),
    (
        "hanging-transaction",
        "A transaction is open, and no coordinator will end it: readers wait forever.",
        _END,
    ),
    (
        "overdue-transaction",
        "A transaction has been open for longer than its timeout.",
        "check that its coordinator runs, which has to end it: oncelog transactions describe",
    ),
    # readers
    (
        "stable-offset-past-open",
        "The last stable offset is beyond an open transaction: readers get undecided records.",
        _BROKER,
    ),
    (
        "stable-offset-behind",
        "The last stable offset lags, but no transaction is open.",
        "see which transaction the broker believes to be open: oncelog transactions describe-producers",
    ),
    ("aborted-shown", "A read_committed reader got records of an aborted transaction.", _BROKER),
    ("undecided-shown", "A read_committed reader got records of an open transaction.", _BROKER),
    ("committed-hidden", "A read_committed reader did not get committed records.", _BROKER),
    (
        "aborted-not-indexed",
        "The .txnindex files lack an aborted transaction: readers get its records.",
        _INDEX,
    ),
    (
        "committed-indexed",
        "The .txnindex files list a committed transaction as aborted: readers do not get its records.",
        _INDEX,
    ),
    # compaction
    (
        "key-came-back",
        "The compacted range has a key twice: an old or deleted value came back.",
        "write the key's current value, or its tombstone, again",
    ),
)

_LOG_UNKNOWN = _table(
    Verdict.UNKNOWN,
    ("no-leader", "A partition has no leader, so it cannot be read.", "bring its replicas back, and run it again"),
    ("not-read", "A partition could not be read to its end.", _AGAIN),
    ("not-offered", "The broker does not offer what this check needs.", "upgrade the brokers"),
    ("not-permitted", "The principal may not ask what this check needs.", "use a principal that may describe it"),
    (
        "older-format",
        "Records are in message format 0 or 1, which has no transactions.",
        "copy them to another topic with Apache Kafka's own tools",
    ),
    (
        "moving",
        "The partition changed too often for two answers to be compared.",
        "run it again while less is written",
    ),
    (
        "undecided-elsewhere",
        "A transaction has a marker in another partition; the one of this partition may be on its way.",
        _AGAIN,
    ),
)

_LOG_ALLOWED = _table(
    Verdict.ALLOWED,
    (
        "producer-expired",
        "A producer was silent for longer than producer.id.expiration.ms, and started over.",
        "nothing",
    ),
    (
        "producer-continues",
        "The first batch of a producer does not have sequence 0: the partition did not know the producer (KIP-360), "
        "for example because the topic was created again.",
        "nothing, if the topic was created again or truncated on purpose",
    ),
    (
        "sequence-hole-compacted",
        "Sequence numbers are missing where compaction has removed batches.",
        "nothing",
    ),
    (
        "unclean-election",
        "Something is missing where the leader changed, and the topic allows unclean elections.",
        "set unclean.leader.election.enable=false if nothing may be lost",
    ),
    (
        "marker-without-data",
        "A marker ends a transaction without records here: it was repeated, or the partition was only added.",
        "nothing",
    ),
    ("open-transaction", "A transaction is open, within its timeout.", "nothing"),
    (
        "outcomes-differ",
        "A producer committed in one partition and aborted in another at about the same time, in one epoch: these "
        "are two transactions, unless markers were written by hand.",
        "nothing",
    ),
    (
        "append-time-back",
        "LogAppendTime goes back: the clocks of leaders differ, or one was set.",
        "synchronise the brokers' clocks",
    ),
    ("unknown-control-record", "This version does not know the type of a control record.", "nothing"),
    (
        "torn-end",
        "The log ends in a part of a batch or in zeros, because the broker was killed; its next start removes them.",
        "nothing",
    ),
)

_COPY = [
    *_table(
        Verdict.FOUND,
        ("copy-missing", "A committed record of the source is not in the destination.", "copy it again"),
        (
            "copy-doubled",
            "A record of the source is in the destination more than once.",
            "remove the duplicate downstream, or compare with --by if the source has equal records on purpose",
        ),
        (
            "copy-altered",
            "A record of the destination differs from its source in key or value.",
            "copy it again; if the change is on purpose, use --transform or --ignore-content",
        ),
        (
            "copy-extra",
            "A committed record of the destination has no source.",
            "find out who else writes there; --allow-extra if that is intended",
        ),
        (
            "copy-out-of-order",
            "Records of one key are not in the order of their source partition.",
            "find out what sends them in parallel, or retries a failed one after later ones",
        ),
    ),
    *_table(
        Verdict.UNKNOWN,
        (
            "copy-undecided",
            "A committed record of the source is missing; an open transaction of the destination may have it.",
            _DECIDED,
        ),
    ),
    *_table(
        Verdict.ALLOWED,
        ("copy-behind", "The copy has not reached these records yet (--allow-lag).", _AGAIN + " when it has caught up"),
        (
            "copy-extra-allowed",
            "A record has no source: this is allowed, or retention or compaction removed the source.",
            "nothing",
        ),
        (
            "copy-missing-compacted",
            "A compacted destination lacks a record that was a tombstone or has a later record of its key.",
            "nothing",
        ),
        (
            "copy-key-scattered",
            "Records of one key are in several partitions of the destination, which have no common order.",
            "use the same partitioner on both sides if their order matters",
        ),
    ),
]

_STOP = "stop the query; oncelog pipeline doctor says what its next start will do"
_PIPELINE = [
    *_table(
        Verdict.FOUND,
        ("batch-other-plan", "A batch was not written by the checkpoint's plan.", _STOP),
        (
            "batch-twice",
            "Two transactions have records of one batch.",
            "remove the records of the second transaction downstream",
        ),
        ("batch-rows", "A batch's transaction and its marker differ in the number of records.", _RESTORE),
        ("batch-missing", "The log lacks a batch that has ended according to the checkpoint.", _STOP),
        ("batch-back", "A batch was written after a later one: two copies of the query run.", _STOP),
        ("checkpoint-behind", "The log has batches that the checkpoint does not know: it is an older copy.", _STOP),
    ),
    *_table(
        Verdict.ALLOWED,
        ("batch-unknown", "Compaction removed a batch's marker.", "nothing"),
    ),
]

_STABLE = _table(
    Verdict.UNKNOWN,
    (
        "undecided-end",
        "A transaction in the partition did not end within 30 seconds, so that records after it cannot be seen.",
        _DECIDED,
    ),
)

KINDS: Final = {kind.name: kind for kind in [*_LOG_FOUND, *_LOG_UNKNOWN, *_LOG_ALLOWED, *_COPY, *_PIPELINE, *_STABLE]}
