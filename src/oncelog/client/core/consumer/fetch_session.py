"""Fetch sessions (KIP-227): the partitions that each broker has on record for a consumer, and the requests that update
them.

Called by the fetcher. Source: ``FetchSessionHandler``.
"""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.structs import TopicPartition
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

_NOWHERE = -1


class ClientFetchSession:
    """An incremental fetch session with one broker (KIP-227)."""

    __slots__ = ("epoch", "id", "known")

    def __init__(self) -> None:
        self.id = 0
        self.epoch = 0
        self.known: dict[TopicPartition, tuple[bytes, int, int]] = {}
        """The topic id, fetch offset and leader epoch that were last sent for each partition of the session."""

    def reset(self) -> None:
        self.id = self.epoch = 0
        self.known = {}

    def next(self) -> None:
        self.epoch = 1 if self.epoch == 0x7FFFFFFF else self.epoch + 1

    def refused(self, name: TopicPartition) -> None:
        """Make the next request send this partition again, with its new position, or remove it if it is no longer read.

        If the partition stayed in the session unchanged, the broker would refuse it in every response.
        """
        known = self.known.get(name)
        if known is not None:
            self.known[name] = (known[0], _NOWHERE, _NOWHERE)

    def request(
        self,
        config: ConsumerConfig,
        wanted: Mapping[TopicPartition, tuple[int, int]],
        ids: Mapping[str, bytes],
    ) -> FetchRequest:
        """The next request for these partitions, each with fetch offset and leader epoch. An incremental request leaves
        out what the broker already has.

        :param ids: topic ids by name.
        """
        full = self.epoch == 0
        asked: dict[TopicPartition, tuple[bytes, int, int]] = {}
        topics: dict[str, list[FetchPartition]] = {}
        for name, (offset, epoch) in wanted.items():
            asked[name] = (ids[name.topic], offset, epoch)
            if not full and self.known.get(name) == asked[name]:
                continue
            topics.setdefault(name.topic, []).append(
                FetchPartition(
                    partition=name.partition,
                    current_leader_epoch=epoch,
                    fetch_offset=offset,
                    partition_max_bytes=config.max_partition_fetch_bytes,
                )
            )
        forgotten: dict[tuple[str, bytes], list[int]] = {}
        if not full:
            for name, (topic_id, _, _) in self.known.items():
                if name not in asked or asked[name][0] != topic_id:
                    forgotten.setdefault((name.topic, topic_id), []).append(name.partition)
        self.known = asked
        return FetchRequest(
            max_wait_ms=config.fetch_max_wait_ms,
            min_bytes=config.fetch_min_bytes,
            max_bytes=config.fetch_max_bytes,
            isolation_level=int(config.read_committed),
            session_id=self.id,
            session_epoch=self.epoch,
            topics=[FetchTopic(topic=topic, topic_id=ids[topic], partitions=items) for topic, items in topics.items()],
            forgotten_topics_data=[
                ForgottenTopic(topic=topic, topic_id=topic_id, partitions=numbers)
                for (topic, topic_id), numbers in forgotten.items()
            ],
            rack_id=config.client_rack,
        )


__all__ = ["ClientFetchSession"]
