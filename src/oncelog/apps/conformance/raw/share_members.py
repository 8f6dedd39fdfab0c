"""Members of share groups as raw clients (KIP-932). Each has its own connection, because a share session ends with its
connection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from oncelog.apps.conformance.expect import eventually, same
from oncelog.apps.conformance.raw.batches import parse_batches
from oncelog.apps.conformance.raw.transactional_producer import LOADING
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.errors import Error
from oncelog.protocol.generated import share_acknowledge_request as acknowledging
from oncelog.protocol.generated import share_fetch_request as fetching
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.protocol.generated.share_group_describe_request import ShareGroupDescribeRequest
from oncelog.protocol.generated.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from oncelog.runtime.chance import uuid4

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
FINAL_EPOCH = -1
RECORD_LIMIT = 1
"""The acquire mode in which the limit of records is exact (KIP-1206)."""
VERSION = 2
"""The version of ShareFetch and ShareAcknowledge since Apache Kafka 4.2, the first with finished share groups."""
GROUP_RESOURCE, SET, DELETE = 32, 0, 1
BEING_SET_UP = {*LOADING, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID, Error.NOT_LEADER_OR_FOLLOWER}
"""Errors of a share partition whose state is being created."""

Acks = Sequence[tuple[int, int, list[int]]]
"""Acknowledgements: the first and last offset of each batch, and one type for all its offsets or one type for each."""


class RawDelivery(NamedTuple):
    """The answer of a ShareFetch for one partition: ranges of acquired offsets with their delivery counts, and the
    records."""

    error: int
    acknowledge_error: int
    acquired: list[tuple[int, int, int]]
    records: bytes

    @property
    def values(self) -> dict[int, bytes | None]:
        """The values of the records that were acquired, by offset."""
        return {
            record.offset: record.value
            for batch in parse_batches(self.records)
            if not batch.is_control
            for record in batch.records()
            if any(first <= record.offset <= last for first, last, _ in self.acquired)
        }


class RawShareMember:
    """A member of a share group that reads one topic.

    :ivar session_epoch: the session epoch of the next request.
    """

    def __init__(self, connection: RawConnection, group: str, topic: str, topic_id: bytes) -> None:
        self.connection, self.group, self.topic, self.topic_id = connection, group, topic, topic_id
        self.id = str(uuid4())
        self.epoch = 0
        self.session_epoch = 0

    # --- membership

    def beat_once(self, **changes: Any) -> Any:
        fields: dict[str, Any] = {"group_id": self.group, "member_id": self.id, "member_epoch": self.epoch}
        if self.epoch == 0:
            fields["subscribed_topic_names"] = [self.topic]
        return self.connection.ask_until(
            ShareGroupHeartbeatRequest(**(fields | changes)), 1, lambda answer: answer.error_code not in LOADING
        )

    def join(self) -> RawShareMember:
        """Send heartbeats until the topic is assigned."""

        def assigned() -> bool:
            answer = self.beat_once()
            same(answer.error_code, Error.NONE)
            self.epoch = answer.member_epoch
            found = answer.assignment.topic_partitions if answer.assignment is not None else ()
            return any(part.topic_id == self.topic_id for part in found)

        eventually(assigned)
        return self

    def end(self) -> None:
        """End the session, and leave."""
        same(self.fetch_once(epoch=FINAL_EPOCH, max_records=0, wait_ms=0)[0], Error.NONE)
        same(self.leave(), Error.NONE)

    def leave(self) -> int:
        code: int = self.beat_once(member_epoch=-1, subscribed_topic_names=None).error_code
        return code

    # --- deliveries

    def fetch_once(
        self,
        partitions: Iterable[int] = (0,),
        *,
        acks: Mapping[int, Acks] | None = None,
        max_records: int = 500,
        epoch: int | None = None,
        wait_ms: int = 200,
        acquire_mode: int = 0,
        renews: bool = False,
        max_bytes: int = 16 << 20,
    ) -> tuple[int, dict[int, RawDelivery]]:
        """Send one ShareFetch; returns the error, and the answer for each partition."""
        session_epoch = self.session_epoch if epoch is None else epoch
        topic = fetching.FetchTopic(
            self.topic_id,
            [
                fetching.FetchPartition(
                    index, 0, [fetching.AcknowledgementBatch(*ack) for ack in (acks or {}).get(index, ())]
                )
                for index in partitions
            ],
        )
        request = fetching.ShareFetchRequest(
            share_acquire_mode=acquire_mode,
            is_renew_ack=renews,
            group_id=self.group,
            member_id=self.id,
            share_session_epoch=session_epoch,
            max_wait_ms=wait_ms,
            min_bytes=1 if wait_ms else 0,
            max_bytes=max_bytes,
            max_records=max_records,
            batch_size=max_records,
            topics=[topic],
        )
        answer = self.connection.ask(request, VERSION)
        if answer.error_code == 0:
            self._goes_on(session_epoch)
        return answer.error_code, {
            part.partition_index: RawDelivery(
                part.error_code,
                part.acknowledge_error_code,
                [(each.first_offset, each.last_offset, each.delivery_count) for each in part.acquired_records],
                bytes(part.records or b""),
            )
            for found in answer.responses
            for part in found.partitions
        }

    def _goes_on(self, session_epoch: int) -> None:
        self.session_epoch = 0 if session_epoch == FINAL_EPOCH else session_epoch + 1

    def begin(self, partitions: Sequence[int] = (0,)) -> RawShareMember:
        """Join, and begin a session once the partitions can be read."""
        self.join()

        def ready() -> bool:
            error, found = self.fetch_once(partitions, epoch=0, wait_ms=0, max_records=0)
            same(error, Error.NONE)
            errors = {part.error for part in found.values()}
            if errors - {0}:
                same(errors - {0} - BEING_SET_UP, set())
                return False
            return True

        eventually(ready)
        return self

    def fetch(self, **options: Any) -> RawDelivery:
        """Fetch from the first partition until something was acquired."""

        def probe() -> RawDelivery | None:
            error, found = self.fetch_once(**options)
            same(error, Error.NONE)
            part = found.get(0)
            if part is None:
                return None
            same(part.error, Error.NONE)
            return part if part.acquired else None

        return eventually(probe)

    def values(self, count: int) -> dict[int, bytes | None]:
        """Fetch until ``count`` records were acquired; returns their values by offset. Markers, which a broker may
        deliver, have no value.
        """
        found: dict[int, bytes | None] = {}

        def enough() -> bool:
            found.update(self.fetch().values)
            return len(found) >= count

        eventually(enough)
        return found

    def finds_no_record(self) -> None:
        """Check that a fetch acquires no record of the first partition; it may acquire a marker."""
        error, found = self.fetch_once()
        same(error, Error.NONE)
        same(found[0].values if 0 in found else {}, {})

    def finds_nothing(self, **options: Any) -> None:
        """Check that a fetch acquires nothing of the first partition."""
        error, found = self.fetch_once(**options)
        same(error, Error.NONE)
        same(found[0].acquired if 0 in found else [], [])

    def acknowledge_once(
        self, acks: Mapping[int, Acks], *, epoch: int | None = None, renews: bool = False
    ) -> tuple[int, dict[int, int]]:
        """Send one ShareAcknowledge; returns the error, and that of each partition."""
        session_epoch = self.session_epoch if epoch is None else epoch
        partitions = [
            acknowledging.AcknowledgePartition(index, [acknowledging.AcknowledgementBatch(*ack) for ack in batches])
            for index, batches in acks.items()
        ]
        topics = [acknowledging.AcknowledgeTopic(self.topic_id, partitions)]
        request = acknowledging.ShareAcknowledgeRequest(self.group, self.id, session_epoch, renews, topics)
        answer = self.connection.ask(request, VERSION)
        if answer.error_code == 0:
            self._goes_on(session_epoch)
        return answer.error_code, {
            part.partition_index: part.error_code for found in answer.responses for part in found.partitions
        }

    def acknowledge(self, first: int, last: int, *kinds: int) -> int:
        """Acknowledge offsets of the first partition; returns the error."""
        error, found = self.acknowledge_once({0: [(first, last, list(kinds))]})
        same(error, Error.NONE)
        return found[0]


def needs_share_groups(connection: RawConnection) -> None:
    """Check that the cluster has finished share groups.

    :raises NotOffered: the cluster has no share groups, or only the preview of them.
    """
    connection.versions(fetching.ShareFetchRequest.API_KEY, range(VERSION, VERSION + 1))
    connection.needs_feature("share.version", 1)


def send_members_away(connection: RawConnection, group: str) -> None:
    """Have all members of a share group leave."""
    described = connection.ask(ShareGroupDescribeRequest(group_ids=[group]), 1)
    for member in described.groups[0].members:
        connection.ask(ShareGroupHeartbeatRequest(group, member.member_id, FINAL_EPOCH), 1)


def set_group(connection: RawConnection, group: str, name: str, value: str | None) -> None:
    """Set one property of a group; None restores the default."""
    operation = DELETE if value is None else SET
    resource = AlterConfigsResource(GROUP_RESOURCE, group, [AlterableConfig(name, operation, value)])
    (answer,) = connection.ask(IncrementalAlterConfigsRequest([resource]), 1).responses
    same(answer.error_code, Error.NONE)
