"""The interface of a Kafka cluster for Spark's workers.

Used by the readers and the sink, on the driver and in tasks. Implemented by :mod:`oncelog.spark.kafka.kafka_cluster` on
the client; :mod:`oncelog.spark.kafka.connections` keeps one client for each set of settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.errors import Error, KafkaError
from oncelog.records.arrow import BatchBytes
from oncelog.records.batch import BatchHeader, Buffer
from oncelog.spark.kafka.prefetch import run_ahead
from oncelog.types import IsolationLevel, ProducerIdAndEpoch, TopicPartition


class ClusterFacts(NamedTuple):
    """The facts about the target cluster that a plan needs."""

    cluster_id: str
    retention_ms: int | None


class OffsetRange(NamedTuple):
    """Offsets of one partition from ``start`` up to, not including, ``end``.

    :param leader_epoch: the leader's epoch when the range was known to be in its log; -1 if unknown.
    :param topic_id: the topic's id, as in :class:`Place`; empty if the cluster gives none.
    """

    partition: TopicPartition
    start: int
    end: int
    leader_epoch: int = -1
    topic_id: str = ""

    @property
    def size(self) -> int:
        return self.end - self.start


class LogEnd(NamedTuple):
    """The end of a log, and the epoch of the leader that reported it: no record below the end has a later epoch.

    :param leader_epoch: the leader's epoch; -1 if the broker does not report it.
    """

    offset: int
    leader_epoch: int = -1


class LogReplaced(Exception):
    """The planned log was replaced by another one; the text says why.

    :param kept: the offset up to which the two logs agree.
    """

    def __init__(self, text: str, kept: int) -> None:
        super().__init__(text)
        self.kept = kept


class FetchedBatches(NamedTuple):
    """One answer for a partition: the batches that a reader may see, and where to continue.

    ``next_offset`` is after everything in the answer, including what was left out. ``log_start_offset`` is greater than
    the requested position if the records at the position were deleted; then there are no batches.
    """

    batches: Sequence[BatchBytes]
    next_offset: int
    log_start_offset: int


class PartitionFetcher(Protocol):
    """Reads one range forward from a position, one request at a time."""

    def fetch(self, position: int) -> FetchedBatches:
        """The batches from ``position`` on; waits for records for a while.

        Raises LogReplaced if the range is no longer the planned one, OncelogError if the broker refuses.
        """
        ...


class PartitionBatch(NamedTuple):
    """One encoded record batch for one partition, whose producer is not set yet."""

    topic: str
    partition: int
    records: int
    data: Buffer


class ProducerTransaction(Protocol):
    """The transactions of one transactional id, which is also the name of the consumer group of the marker.

    Each call returns when the broker has answered, repeats retriable errors, and raises OncelogError for others.
    """

    def init_producer_id(self) -> None:
        """Fence older producers of the id; repeated until no earlier transaction of it is open."""
        ...

    def producer(self) -> ProducerIdAndEpoch:
        """The current producer, as :meth:`init_producer_id` received it from the broker, or as it was passed to
        :meth:`join`."""
        ...

    def join(self, producer: ProducerIdAndEpoch) -> None:
        """Continue the transaction of a producer that another process initialized with this id."""
        ...

    def committed_offsets(
        self, expected: TopicPartition, *, require_stable: bool = True
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """All committed offsets of the group. If transactions with offsets are open, the call waits for them
        (``require_stable``), or returns the offsets from before them.

        A broker omits offsets that the user may not see. So if ``expected`` is missing, it is requested by name, which
        raises KafkaError if a permission is missing.
        """
        ...

    def produce(self, batches: Iterable[PartitionBatch]) -> None:
        """Append in the given order, partition by partition, acks=all, inside the transaction."""
        ...

    def add_offset(self, partition: TopicPartition, offset: int, metadata: str) -> None:
        """Add the offset to the transaction, as the group's committed offset."""
        ...

    def end(self, *, commit: bool) -> None:
        """End the transaction, repeated until the outcome is known.

        After an abort no process can write with its producer any more, whether it called :meth:`join` or not, and late
        requests are refused; call :meth:`init_producer_id` before the next transaction.
        """
        ...


class KafkaAccess(Protocol):
    """Blocking; each call repeats retriable errors within the client's timeouts, and raises OncelogError for others."""

    def partition_counts(self, topics: Sequence[str] | None, *, wait: bool = False) -> Mapping[str, int]:
        """Partition counts of topics; None asks for all except internal topics. Unknown topics are left out.

        :param wait: retry for a moment: not all brokers know a topic that was just created.
        """
        ...

    def topic_ids(self, topics: Sequence[str]) -> Mapping[str, str]:
        """The ids of topics, in Kafka's notation. Topics that do not exist, or have no id, are left out."""
        ...

    def facts(self, group: str) -> ClusterFacts:
        """The facts about the cluster that the plan of a batch needs."""
        ...

    def list_offsets(
        self, questions: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        """An offset for each partition: -2 asks for the first, -1 for the end as ``isolation`` sees it.

        Any other value is a timestamp in ms and asks for the first record at or after it (-1 if there is none).
        """
        ...

    def log_ends(
        self, partitions: Sequence[TopicPartition], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, LogEnd]:
        """The current end of each partition, as ``isolation`` sees it."""
        ...

    def settled_ends(
        self,
        partitions: Sequence[TopicPartition],
        isolation: IsolationLevel,
        read: Mapping[TopicPartition, int] | None = None,
    ) -> Mapping[TopicPartition, LogEnd]:
        """Like :meth:`log_ends`, but first waits for the markers of all transactions whose commit or abort was
        acknowledged before the call.

        :param read: the caller's position; the call does not wait while there are other records to read.
        """
        ...

    def epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """For each partition, the offset up to which its log matches that of a leader with the given epoch; -1 if the
        log only knows older epochs. Partitions whose broker does not know are left out."""
        ...

    def batch_headers(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, BatchHeader]:
        """For each offset, the header of the record batch that contains it, or of the next batch if compaction removed
        that one.

        Partitions whose log does not reach that offset, or begins behind it, are left out.
        """
        ...

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Store positions for a consumer group without members."""
        ...

    def fetcher(self, item: OffsetRange, isolation: IsolationLevel) -> PartitionFetcher: ...

    def transaction(self, transactional_id: str, timeout_ms: int) -> ProducerTransaction:
        """A transaction of this id that has not begun; contacts no broker."""
        ...


def prefetched(fetcher: PartitionFetcher, start: int, end: int) -> Iterator[FetchedBatches]:
    """Fetch from ``start`` until ``end`` is passed. While the caller processes one answer, the next is requested.

    Spark's Python sources have no prefetching of their own.
    """

    def answers() -> Iterator[FetchedBatches]:
        position = start
        while position < end:
            fetched = fetcher.fetch(position)
            yield fetched
            position = max(fetched.next_offset, fetched.log_start_offset)

    return run_ahead(answers())


def describe_remade(topics: Iterable[str], before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """For each topic, one sentence that says that it was deleted and recreated."""
    return [
        f"topic {topic} was deleted and recreated (its id was {before[topic]} and is {now[topic]})" for topic in topics
    ]


_HEALED_BY_A_FENCE = (
    Error.TRANSACTION_ABORTABLE,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    Error.INVALID_TXN_STATE,
    Error.INVALID_PRODUCER_ID_MAPPING,
)


def final(error: BaseException) -> bool:
    """Whether a retry by the writers is useless: it would fail, too, or it would fence the producer that has fenced
    this one."""
    return not (isinstance(error, KafkaError) and (error.retriable or error.error in _HEALED_BY_A_FENCE))
