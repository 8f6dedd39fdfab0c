"""A member of a share group that sends what it is told to, byte for byte, and shows the answers (KIP-932)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.errors import Error
from oncelog.protocol.generated import share_acknowledge_request as acks
from oncelog.protocol.generated import share_fetch_request as fetches
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.share_acknowledge_request import ShareAcknowledgeRequest
from oncelog.protocol.generated.share_fetch_request import ShareFetchRequest
from oncelog.protocol.generated.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from oncelog.records.batch import BatchBuilder
from tests.support.share_groups import TIMEOUT_S, make_topic_and_group

NOT_READY = frozenset({14, 15, 16, 3, 6, 100})
"""Of a coordinator, a topic or a share partition that was just made."""
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
Batch = tuple[int, int, list[int]]
"""First offset, last offset, and their types, or one for all."""


class Fetched(NamedTuple):
    """What a fetch got of one partition: ranges with their delivery count, and what became of acknowledgements."""

    acquired: list[tuple[int, int, int]]
    acknowledged: Error


class ShareTopic:
    """A topic, and a share group that reads it from its beginning."""

    def __init__(self, servers: str, name: str, **settings: str) -> None:
        """:param settings: the group's, as for :func:`make_topic_and_group`."""
        self.servers, self.name = servers, name
        make_topic_and_group(servers, name, name, 1, **settings)
        self.client = RawConnection(servers)
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[name])
        self.client.ask_until(request, 4, lambda answer: answer.coordinators[0].error_code == 0)
        (topic,) = self.client.ask(MetadataRequest([MetadataRequestTopic(name=name)]), 12).topics
        self.topic_id: bytes = topic.topic_id

    def produce(self, *sizes: int) -> None:
        """A batch of so many records for each size."""
        for size in sizes:
            builder = BatchBuilder()
            for number in range(size):
                builder.append(int(time.time() * 1000), None, b"%d" % number)
            data = [PartitionProduceData(0, memoryview(bytes(builder.build())))]
            request = ProduceRequest(None, -1, 30_000, [TopicProduceData(self.name, partition_data=data)])
            self.client.ask_until(request, 12, lambda answer: not answer.responses[0].partition_responses[0].error_code)


class ShareMember:
    """One member, with a connection for its group and one for its records."""

    def __init__(self, topic: ShareTopic, member_id: str, *, joins: bool = True) -> None:
        self._topic = topic
        self.member_id = member_id
        self.session_epoch = 0
        self.member_epoch = 0
        self._records = RawConnection(topic.servers)
        self._group = RawConnection(topic.servers)
        if joins:
            self._join()

    def heartbeat(self, epoch: int | None = None, topics: list[str] | None = None) -> Any:
        epoch = self.member_epoch if epoch is None else epoch
        request = ShareGroupHeartbeatRequest(self._topic.name, self.member_id, epoch, None, topics)
        return self._group.ask(request, 1)

    def _join(self) -> None:
        until = time.monotonic() + TIMEOUT_S
        while True:
            assert time.monotonic() < until
            answer = self.heartbeat(topics=None if self.member_epoch else [self._topic.name])
            assert not answer.error_code or answer.error_code in NOT_READY, answer.error_message
            self.member_epoch = answer.member_epoch if not answer.error_code else self.member_epoch
            if not answer.error_code and answer.assignment is not None and answer.assignment.topic_partitions:
                return
            time.sleep(0.2)

    def leave(self) -> None:
        assert self.heartbeat(-1).error_code == 0

    def disconnect(self) -> None:
        self._records.close()

    def fetch(
        self,
        most: int = 500,
        *,
        answers: Sequence[Batch] = (),
        epoch: int | None = None,
        strict: bool = True,
        wait_ms: int = 500,
        renews: bool = False,
    ) -> Fetched | Error:
        """At most so many records; repeated while the share partition is being made."""
        batches = [fetches.AcknowledgementBatch(*batch) for batch in answers]
        place = [fetches.FetchTopic(self._topic.topic_id, [fetches.FetchPartition(0, 0, batches)])]
        epoch = self.session_epoch if epoch is None else epoch
        size, wait_ms, least = (1 << 20, wait_ms, 1) if most else (0, 0, 0)
        until = time.monotonic() + TIMEOUT_S
        parts: list[Any] = []
        while True:
            assert time.monotonic() < until, parts
            request = ShareFetchRequest(
                self._topic.name, self.member_id, epoch, wait_ms, least, size, most, 500, int(strict), renews, place
            )
            answer = self._records.ask(request, 2)
            if answer.error_code:
                return Error(answer.error_code)
            epoch = self.session_epoch = epoch + 1
            parts = [part for found in answer.responses for part in found.partitions]
            codes = {part.error_code for part in parts}
            if not codes & NOT_READY:
                break
            if Error.UNKNOWN_TOPIC_ID in codes:
                epoch = 0  # a session that began before Apache Kafka knew the topic never finds it
            else:
                place = []
            time.sleep(0.2)
        acquired = [
            (each.first_offset, each.last_offset, each.delivery_count)
            for part in parts
            for each in part.acquired_records
        ]
        return Fetched(acquired, Error(next((part.acknowledge_error_code for part in parts), 0)))

    def fetch_once(self) -> Error:
        """The error that a new session's first fetch gets of the partition."""
        place = [fetches.FetchTopic(self._topic.topic_id, [fetches.FetchPartition(0)])]
        request = ShareFetchRequest(self._topic.name, self.member_id, 0, 0, 1, 1 << 20, 500, 500, topics=place)
        ((part,),) = [found.partitions for found in self._records.ask(request, 2).responses]
        return Error(part.error_code)

    def acquired(self, most: int = 500, **how: Any) -> list[tuple[int, int, int]]:
        found = self.fetch(most, **how)
        assert isinstance(found, Fetched), found
        return found.acquired

    def say(self, *batches: Batch, epoch: int | None = None, renews: bool = False, partition: int = 0) -> Error:
        """Acknowledge in a request of its own."""
        answers = [acks.AcknowledgementBatch(*batch) for batch in batches]
        place = [acks.AcknowledgeTopic(self._topic.topic_id, [acks.AcknowledgePartition(partition, answers)])]
        epoch = self.session_epoch if epoch is None else epoch
        request = ShareAcknowledgeRequest(self._topic.name, self.member_id, epoch, renews, place if batches else [])
        answer = self._records.ask(request, 2)
        if answer.error_code:
            return Error(answer.error_code)
        self.session_epoch = epoch + 1
        codes = [part.error_code for found in answer.responses for part in found.partitions]
        return Error(codes[0]) if codes else Error.NONE
