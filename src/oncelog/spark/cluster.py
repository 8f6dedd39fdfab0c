"""What Spark's workers need from a Kafka cluster.

Used by the readers and the sink, on the driver and in tasks. Implemented by :mod:`oncelog.spark.kafka_cluster` on the
client; :mod:`oncelog.spark.connections` keeps one client for each set of settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from oncelog.records.arrow import StoredBatch
from oncelog.records.batch import BatchHeader
from oncelog.spark.checkpoint import ClusterFacts
from oncelog.spark.offsets import LogEnd, OffsetRange
from oncelog.spark.prefetch import run_ahead
from oncelog.spark.sink_protocol import TransactionEngine
from oncelog.types import IsolationLevel, TopicPartition


class LogReplaced(Exception):
    """The log that a task was to read is no longer the one that was planned; the text says why.

    :param kept: the offset up to which it still is.
    """

    def __init__(self, text: str, kept: int) -> None:
        super().__init__(text)
        self.kept = kept


class Fetched(NamedTuple):
    """One answer for a partition: the batches a reader may see, and where to continue.

    ``next_offset`` lies behind everything in the answer, including what was left out. ``log_start_offset`` is above
    the requested position if records before it were deleted: then there are no batches.
    """

    batches: Sequence[StoredBatch]
    next_offset: int
    log_start_offset: int


class PartitionFetcher(Protocol):
    """Reads one range forward from a position, one request at a time."""

    def fetch(self, position: int) -> Fetched:
        """The batches from ``position`` on; waits for records for a while.

        Raises LogReplaced if the range is no longer the planned one, OncelogError if the broker refuses.
        """
        ...


class Cluster(Protocol):
    """Blocking; each call repeats retriable errors within the client's timeouts, and raises OncelogError for others."""

    def partition_counts(self, topics: Sequence[str] | None, *, create: bool = False) -> Mapping[str, int]:
        """Partition counts of topics; None asks for all but internal ones. Unknown topics are left out.

        :param create: let the broker create missing topics, if it does so automatically.
        """
        ...

    def topic_ids(self, topics: Sequence[str]) -> Mapping[str, str]:
        """The ids of topics, in Kafka's notation; without topics that do not exist and clusters that give no ids."""
        ...

    def facts(self, group: str) -> ClusterFacts:
        """What the plan of a batch needs to know about the cluster."""
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

    def epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Up to which offset each log matches that of a leader with the given epoch; -1 if it only knows older epochs.

        Partitions whose broker cannot tell are left out.
        """
        ...

    def batch_headers(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, BatchHeader]:
        """The header of the record batch that has each offset, or of the next one if compaction removed it.

        Partitions whose log does not reach that offset, or begins behind it, are left out.
        """
        ...

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Store positions for a consumer group without members."""
        ...

    def fetcher(self, item: OffsetRange, isolation: IsolationLevel) -> PartitionFetcher: ...

    def transaction(self, transactional_id: str, timeout_ms: int) -> AbstractContextManager[TransactionEngine]:
        """The engine of one transactional id, on its own connections."""
        ...


def prefetched(fetcher: PartitionFetcher, start: int, end: int) -> Iterator[Fetched]:
    """Answers from ``start`` until ``end`` is passed; the next is requested while the caller processes one.

    Spark's Python sources have no prefetching of their own.
    """

    def answers() -> Iterator[Fetched]:
        position = start
        while position < end:
            fetched = fetcher.fetch(position)
            yield fetched
            position = max(fetched.next_offset, fetched.log_start_offset)

    return run_ahead(answers())
