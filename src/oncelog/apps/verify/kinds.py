"""The names of all findings, what each means, and what to do about it; a pure table.

A name never changes its meaning: scripts read it from ``--json``.
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


_RESTORE = "restore the records from another replica or a mirror, or read them again from where they came"
_WRITER = (
    "find out who writes with this producer id: two programs share it, or something writes around the broker's checks"
)
_BROKER = "report it to the broker's authors with the output of oncelog dump-log for these offsets"
_END = "end it: oncelog transactions find-hanging, then oncelog transactions abort"
_INDEX = "remove the segment's .txnindex file while the broker is stopped: a start writes it again"
_AGAIN = "run it again"
_DECIDED = f"run it again when the transaction has ended; if it does not, {_END}"


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
    ("offset-overlap", "A batch has offsets that an earlier one has.", _RESTORE),
    (
        "offset-gap",
        "Offsets are missing in the middle of a partition that is not compacted.",
        _RESTORE + "; if the topic was compacted once, say --compacted",
    ),
    (
        "leader-epoch-back",
        "A batch has a smaller leader epoch than one before it: a deposed leader wrote it.",
        _RESTORE,
    ),
    ("high-watermark-missing", "The log ends before its high watermark.", _RESTORE),
    # producers
    (
        "sequence-gap",
        "Sequence numbers of a producer are missing: records that it sent before others are not there.",
        _RESTORE,
    ),
    (
        "sequence-repeat",
        "Sequence numbers of a producer come a second time: its records are there twice.",
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
        "A producer wrote with an older epoch than before: it was fenced, and its records came in anyway.",
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
        "A marker has an epoch that the transaction which it ends cannot have been ended with.",
        _BROKER,
    ),
    (
        "marker-contradicts",
        "A second marker aborts a transaction that its first one has committed.",
        _BROKER,
    ),
    ("marker-coordinator-back", "A marker was written by a coordinator that had been replaced.", _BROKER),
    (
        "marker-missing",
        "A producer began its next transaction while the one before had no end here: both end together.",
        "compare with the producer's other partitions; what the first one wrote may have had another outcome",
    ),
    (
        "torn-transaction",
        "A transaction was committed in one partition and aborted in another.",
        "decide which outcome is right, and correct the partitions with the other one downstream",
    ),
    ("half-ended-transaction", "A transaction has its end in one partition and none in another.", _END),
    (
        "hanging-transaction",
        "A transaction is open, and no coordinator will end it: readers are held back forever.",
        _END,
    ),
    (
        "overdue-transaction",
        "A transaction has been open for longer than its timeout.",
        "see oncelog transactions describe for its coordinator; if that does not run, nothing ends the transaction",
    ),
    # readers
    (
        "stable-offset-past-open",
        "The last stable offset is beyond an open transaction: readers get what is undecided.",
        _BROKER,
    ),
    (
        "stable-offset-behind",
        "The last stable offset is held back, and no transaction is open there.",
        "see oncelog transactions describe-producers for the transaction that the broker believes to be open",
    ),
    ("aborted-shown", "A read_committed reader was given records of an aborted transaction.", _BROKER),
    ("undecided-shown", "A read_committed reader was given records whose transaction has no end.", _BROKER),
    ("committed-hidden", "A read_committed reader was not given committed records.", _BROKER),
    (
        "aborted-not-indexed",
        "The .txnindex files do not list an aborted transaction: readers are given its records.",
        _INDEX,
    ),
    (
        "committed-indexed",
        "The .txnindex files list a committed transaction as aborted: readers are not given its records.",
        _INDEX,
    ),
    # compaction
    (
        "key-came-back",
        "Below what compaction has cleaned, a key is there twice: an old value, or one that was deleted, came back.",
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
        "Records are in message format 0 or 1, from before there were transactions.",
        "copy them to another topic with Apache Kafka's own tools",
    ),
    (
        "moving",
        "The partition changed during each look, so that no two answers could be compared.",
        "run it again while less is written",
    ),
    (
        "undecided-elsewhere",
        "A transaction has its end in another partition, and here it may still be on its way.",
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
        "The first batch of a producer does not have sequence 0: the partition did not know it (KIP-360), for example "
        "because the topic was created again or its beginning was cut off.",
        "nothing, if the topic was created again or lost its beginning on purpose",
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
        "A marker ends a transaction that wrote nothing here: it was repeated, or the partition was only added.",
        "nothing",
    ),
    ("open-transaction", "A transaction is open, and within its limit.", "nothing"),
    (
        "outcomes-differ",
        "A producer whose transactions share one epoch committed and aborted in different partitions at "
        "about the same time: these are two transactions, unless markers were written by hand.",
        "nothing",
    ),
    (
        "append-time-back",
        "LogAppendTime goes back: a leader's clock was set, or another leader's is slow.",
        "keep the brokers' clocks together",
    ),
    ("unknown-control-record", "A control record is of a type that this version does not know.", "nothing"),
    (
        "torn-end",
        "The last batch of a folder is cut off, or zeros follow it: the broker was killed, and its next start removes "
        "that.",
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
            "remove the second one downstream, or compare with --by if the source has equal records on purpose",
        ),
        (
            "copy-altered",
            "A record of the destination is recognised as one of the source, and has another key or value.",
            "give the change as --transform, or say --ignore-content, if it is one on purpose; if not, copy it again",
        ),
        (
            "copy-extra",
            "A committed record of the destination has no source.",
            "find out who else writes there; --allow-extra if that is as it should be",
        ),
        (
            "copy-out-of-order",
            "Records of one key are in another order than in their partition of the source.",
            "find out what sends them in parallel, or repeats a failed one after later ones",
        ),
    ),
    *_table(
        Verdict.UNKNOWN,
        (
            "copy-undecided",
            "A committed record of the source is not in the destination, where a transaction is open that may have it.",
            _DECIDED,
        ),
    ),
    *_table(
        Verdict.ALLOWED,
        ("copy-behind", "The copy has not got to these records yet (--allow-lag).", _AGAIN + " when it has caught up"),
        (
            "copy-extra-allowed",
            "A record of the destination has no source: that is allowed, or retention or compaction has removed it.",
            "nothing",
        ),
        (
            "copy-missing-compacted",
            "A record is missing in a destination that is compacted, and a later one of its key is there, or it was a "
            "tombstone.",
            "nothing",
        ),
        (
            "copy-key-scattered",
            "Records of one key are in several partitions of the destination, which have no order among each other.",
            "use the same partitioner on both sides if their order matters",
        ),
    ),
]

_STOP = "stop the query; oncelog pipeline doctor says what its next start will do"
_PIPELINE = [
    *_table(
        Verdict.FOUND,
        ("batch-other-plan", "A batch was written by another plan than the one in the checkpoint.", _STOP),
        ("batch-twice", "Two transactions have records of one batch.", "remove the second ones downstream"),
        ("batch-rows", "A batch's transaction does not have as many records as its marker says.", _RESTORE),
        ("batch-missing", "A batch has ended by the checkpoint, and the log does not have it.", _STOP),
        ("batch-back", "A batch was written after a later one: two copies of the query run.", _STOP),
        ("checkpoint-behind", "The log has batches that the checkpoint does not know: it is an older copy.", _STOP),
    ),
    *_table(
        Verdict.ALLOWED,
        ("batch-unknown", "A batch's marker was compacted away, so that no more can be known of it.", "nothing"),
    ),
]

_STABLE = _table(
    Verdict.UNKNOWN,
    (
        "undecided-end",
        "A transaction is open before the end of a partition, and did not end within 30 seconds: readers of committed "
        "records get nothing after it, so that a copy or a batch may be there and cannot be seen.",
        _DECIDED,
    ),
)

KINDS: Final = {kind.name: kind for kind in [*_LOG_FOUND, *_LOG_UNKNOWN, *_LOG_ALLOWED, *_COPY, *_PIPELINE, *_STABLE]}
