"""What Spark's workers need of a Kafka cluster, and the connections kept for it.

Called by the readers and the sink, on the driver and in tasks. A worker serves many tasks and batches, so clients
are kept in this module by their settings. Implemented by :mod:`oncelog.spark.kafka_cluster` on the client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from oncelog.records.arrow import StoredBatch
from oncelog.spark.checkpoint import ClusterFacts
from oncelog.spark.offsets import LogEnd, OffsetRange
from oncelog.spark.prefetch import run_ahead
from oncelog.spark.sink_protocol import TransactionEngine
from oncelog.types import IsolationLevel, TopicPartition


class LogReplaced(Exception):
    """What a task was to read is no longer what was planned; its text says why.

    :param kept: up to where it still is.
    """

    def __init__(self, text: str, kept: int) -> None:
        super().__init__(text)
        self.kept = kept


class Fetched(NamedTuple):
    """One answer for a partition: the batches a reader may see, and where to go on.

    ``next_offset`` lies behind everything the answer held, what was left out included. ``log_start_offset`` is above
    the position asked for when records before it were deleted: then there are no batches.
    """

    batches: Sequence[StoredBatch]
    next_offset: int
    log_start_offset: int


class PartitionFetcher(Protocol):
    """Reads one range onwards from a position, one request at a time."""

    def fetch(self, position: int) -> Fetched:
        """What follows ``position``; waits for records for a while.

        Raises LogReplaced where the range is not that of the plan any more, OncelogError when the broker refuses.
        """
        ...


class Cluster(Protocol):
    """Blocking; each call repeats what may be repeated within the client's timeouts and raises OncelogError else."""

    def partition_counts(self, topics: Sequence[str] | None, *, create: bool = False) -> Mapping[str, int]:
        """Partitions of topics; None asks for all but internal ones. Unknown topics are left out.

        :param create: let the broker create what is missing, where it does so by itself.
        """
        ...

    def topic_ids(self, topics: Sequence[str]) -> Mapping[str, str]:
        """The ids of topics, in Kafka's spelling; without those that do not exist or whose cluster gives no ids."""
        ...

    def facts(self, group: str) -> ClusterFacts:
        """What the plan of a batch needs to know of the cluster."""
        ...

    def list_offsets(
        self, questions: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        """An offset for each partition: -2 asks for the first, -1 for the end as ``isolation`` sees it.

        Else the question is a timestamp in ms, for the first record not older (-1 if there is none).
        """
        ...

    def log_ends(
        self, partitions: Sequence[TopicPartition], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, LogEnd]:
        """Where each partition ends now as ``isolation`` sees it."""
        ...

    def epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Up to where each log is still that of a leader with the given epoch; -1 if it knows older ones only.

        Without those whose broker cannot tell.
        """
        ...

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Store positions for a consumer group without members."""
        ...

    def fetcher(self, item: OffsetRange, isolation: IsolationLevel) -> PartitionFetcher: ...

    def transaction(self, transactional_id: str, timeout_ms: int) -> AbstractContextManager[TransactionEngine]:
        """The engine of one transactional id, on connections of its own."""
        ...


def prefetched(fetcher: PartitionFetcher, start: int, end: int) -> Iterator[Fetched]:
    """Answers from ``start`` until ``end`` is passed; the next one is under way while the caller uses one.

    Spark's Python sources have no prefetching of their own.
    """

    def answers() -> Iterator[Fetched]:
        position = start
        while position < end:
            fetched = fetcher.fetch(position)
            yield fetched
            position = max(fetched.next_offset, fetched.log_start_offset)

    return run_ahead(answers())
