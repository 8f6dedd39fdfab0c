"""Writes the dead letters of share groups: records that a group no longer delivers, to the topic that the group names
for them (KIP-1191).

Called by ``share_partitions`` once it is stored that the records are not delivered again, and after a restart for those
that are not yet archived: a dead letter may be written twice. A dead letter that cannot be written is logged; its
record is archived nevertheless. Source: Kafka's ``ShareGroupDLQStateManager`` (4.4), which has the same headers,
partitions and refusals.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from oncelog.broker.core.cluster.node import NO_LEADER
from oncelog.broker.metadata.features import SHARE_VERSION
from oncelog.errors import NONE, CorruptLogError, Error, StorageError
from oncelog.records.batch import BatchBuilder, decode_records, iter_headers
from oncelog.records.record_errors import CorruptBatch
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.coordinator.share.state_rules import StateBatch
    from oncelog.broker.core.requests.tasks import Tasks
    from oncelog.broker.core.requests.work import Work
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.broker.metadata.store import MetadataStore, TopicInfo
    from oncelog.records.record import Headers, Record
    from oncelog.runtime.timers import Timers
    from oncelog.settings.config import BrokerConfig

logger = logging.getLogger(__name__)

ATTEMPTS: Final = 5
RETRY_MS: Final = 1000
"""The delay in ms before the second attempt; it doubles before each further attempt."""
RETRIED: Final = frozenset(
    {Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_ENOUGH_REPLICAS, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
)
READ_AT_ONCE_BYTES: Final = 256 * 1024
COPIED_IN_A_CHUNK: Final = 20
NEW_TOPIC: Final = {"errors.deadletterqueue.group.enable": "true", "message.timestamp.type": "CreateTime"}


class TopicMaker(Protocol):
    def auto_creating(self, name: str, now_ms: int, overrides: Mapping[str, str]) -> Work[TopicInfo | Error]: ...


class DeadLetterPorts(Protocol):
    """The interface that dead letters need from the broker."""

    config: BrokerConfig
    metadata: MetadataStore
    timers: Timers
    tasks: Tasks
    now_ms: int

    @property
    def topics(self) -> TopicMaker: ...

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...


class GivenUp(NamedTuple):
    """Records of a partition that a group gives up at the same time.

    :ivar batches: batches of records in ascending order, with True if a member rejected them, False if they reached the
        delivery limit.
    """

    group_id: str
    partition: Partition
    batches: Sequence[tuple[StateBatch, bool]]

    def records(self) -> Iterator[tuple[int, Headers]]:
        """The offset of each record, with the headers of its dead letter."""
        topic, index = self.partition.topic_partition
        for batch, is_rejected in self.batches:
            reason = "Offset rejected by client." if is_rejected else "Offset delivery count exceeded the threshold."
            for offset in range(batch.first, batch.last + 1):
                values = {
                    "topic": topic,
                    "partition": index,
                    "offset": offset,
                    "group": self.group_id,
                    "delivery.count": batch.deliveries,
                    "message": reason,
                }
                yield offset, [(f"__dlq.errors.{name}", str(value).encode()) for name, value in values.items()]


class DeadLetters:
    """Writes dead letters to the groups' topics, and counts them."""

    def __init__(self, ports: DeadLetterPorts, setting: Callable[[str, str], str]) -> None:
        """:param setting: returns the value of a group's setting; called with group id and setting."""
        self._ports = ports
        self._setting = setting
        self.written: Counter[str] = Counter()
        """By group, the number of records whose dead letter was written."""
        self.tried: Counter[str] = Counter()
        """By group, the number of batches of dead letters that were to be appended."""
        self.failed: Counter[str] = Counter()
        """By group, the number of batches of dead letters that could not be appended."""

    def _topic(self, group_id: str) -> str:
        return self._setting(group_id, "errors.deadletterqueue.topic.name")

    def wanted(self, group_id: str) -> bool:
        """Whether a group wants dead letters: it names a topic for them, and ``share.version`` is at least 2."""
        return self._ports.metadata.finalized_features.level(SHARE_VERSION) > 1 and bool(self._topic(group_id))

    def write(self, given_up: GivenUp, now_ms: int) -> Deferred[None]:
        """Write the dead letters; resolves once they are committed, or it is clear that they cannot be written."""
        return self._ports.tasks.begin(self._writing(given_up, now_ms))

    def _writing(self, given_up: GivenUp, now_ms: int) -> Work[None]:
        refusal = self._refusal(given_up.group_id) or (yield from self._making(given_up.group_id, now_ms))
        if refusal is None:
            refusal = yield from self._copying(given_up)
        if refusal is not None:
            first, last = given_up.batches[0][0].first, given_up.batches[-1][0].last
            place = f"{given_up.partition} for the share group {given_up.group_id}"
            count = sum(batch.last - batch.first + 1 for batch, _ in given_up.batches)
            logger.error(
                "dead letters for %d records at offsets %d to %d of %s could not be written: %s",
                count,
                first,
                last,
                place,
                refusal,
            )

    def _refusal(self, group_id: str) -> str | None:
        """The reason why nothing can be written to the topic that the group names, else None."""
        name, config = self._topic(group_id), self._ports.config
        if not name:
            return "the group has no errors.deadletterqueue.topic.name any more"
        info = self._ports.metadata.topic(name)
        if info is not None and not info.config.errors_deadletterqueue_group_enable:
            return f"set errors.deadletterqueue.group.enable=true on the topic {name}"
        if info is None and config.text("errors.deadletterqueue.auto.create.topics.enable") != "true":
            setting = "errors.deadletterqueue.auto.create.topics.enable"
            return f"the topic {name} does not exist: create it, or set {setting}=true on the brokers"
        prefix = config.text("errors.deadletterqueue.topic.name.prefix") or ""
        if not name.startswith(prefix):
            return f"{name} does not begin with {prefix}, the brokers' errors.deadletterqueue.topic.name.prefix"
        return None

    def _making(self, group_id: str, now_ms: int) -> Work[str | None]:
        name = self._topic(group_id)
        if self._ports.metadata.topic(name) is None:
            made = yield from self._ports.topics.auto_creating(name, now_ms, NEW_TOPIC)
            if isinstance(made, Error):
                return f"the topic {name} cannot be created: {made.name}"
        return None

    def _target(self, given_up: GivenUp) -> Partition | None:
        """The partition to which the dead letters are written; None if the topic does not exist."""
        info = self._ports.metadata.topic(self._topic(given_up.group_id))
        if info is None:
            return None
        index = given_up.partition.topic_partition.partition % info.partitions
        return self._ports.partition(TopicPartition(info.name, index))

    def _copying(self, given_up: GivenUp) -> Work[str | None]:
        """Append the dead letters, in batches that the topic accepts; returns the reason if they could not be appended.
        A record that is too large for the topic is not copied."""
        target = self._target(given_up)
        most = target.log.config.max_message_bytes if target is not None else 0
        originals = self._originals(given_up)
        found = next(originals, None)
        builder = BatchBuilder()
        for number, (offset, headers) in enumerate(given_up.records(), 1):
            while found is not None and found.offset < offset:
                found = next(originals, None)
            key, value = (found.key, found.value) if found is not None and found.offset == offset else (None, None)
            size = BatchBuilder().append(self._ports.now_ms, key, value, headers)
            if builder.count and builder.size_bytes + size > most:
                refusal = yield from self._appending(given_up, builder)
                if refusal is not None:
                    return refusal
                builder = BatchBuilder()
            if builder.size_bytes + size > most:
                key = value = None
            builder.append(self._ports.now_ms, key, value, headers)
            if not number % COPIED_IN_A_CHUNK:
                yield
        return (yield from self._appending(given_up, builder))

    def _originals(self, given_up: GivenUp) -> Iterator[Record]:
        """The original records, as far as they can be read, if the group has them copied; records between them may be
        included."""
        if self._setting(given_up.group_id, "errors.deadletterqueue.copy.record.enable") != "true":
            return
        log = given_up.partition.log
        offset = log.log_start_offset
        try:
            for batch, _ in given_up.batches:
                offset = max(offset, batch.first)
                while offset <= batch.last:
                    read = log.read(offset, READ_AT_ONCE_BYTES, log.high_watermark, at_least_one_batch=True)
                    if isinstance(read, Error) or not read.size_bytes:
                        return
                    data = b"".join([part.read_bytes() for part in read.slices])
                    for position, header in iter_headers(data):
                        if not header.is_control:
                            yield from decode_records(data, position)
                        offset = header.base_offset + header.last_offset_delta + 1
        except (StorageError, CorruptLogError, CorruptBatch) as error:
            logger.warning("dead letters of %s are written without keys and values: %s", given_up.partition, error)

    def _appending(self, given_up: GivenUp, builder: BatchBuilder) -> Work[str | None]:
        """Append one batch of dead letters, with several attempts; returns the reason if it could not be appended."""
        group_id, error = given_up.group_id, Error.UNKNOWN_TOPIC_OR_PARTITION
        for attempt in range(ATTEMPTS):
            if attempt:
                yield self._after(RETRY_MS << (attempt - 1))
            target = self._target(given_up)
            if target is None:
                break
            self.tried[group_id] += 1
            error = yield self._append(target, builder)
            if error is NONE:
                self.written[group_id] += builder.count
                return None
            self.failed[group_id] += 1
            if error not in RETRIED:
                break
        return f"{self._topic(group_id)} refused them: {error.name}"

    def _append(self, target: Partition, builder: BatchBuilder) -> Deferred[Error]:
        if target.replicas is not None and target.replicas.leader == NO_LEADER:
            return Deferred.of(Error.NOT_LEADER_OR_FOLLOWER)
        if target.lacks_replicas:
            return Deferred.of(Error.NOT_ENOUGH_REPLICAS)
        result = target.append_client(builder.build(), self._ports.now_ms)
        if result.error is not NONE:
            return Deferred.of(result.error)
        return target.when_committed(result.last_offset + 1)

    def _after(self, delay_ms: int) -> Deferred[None]:
        waited: Deferred[None] = Deferred()
        self._ports.timers.schedule(self._ports.now_ms + delay_ms, lambda _: waited.resolve(None))
        return waited
