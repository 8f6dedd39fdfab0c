"""The environment shared by the parts of the group coordinator: the host, timers by name, and the shard's log.

``shard.GroupShard`` creates one for each partition of ``__consumer_offsets`` and passes it to the classic protocol, the
consumer protocol and the offsets. This module knows no protocol's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup
from oncelog.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from oncelog.broker.coordinator.runtime import CoordinatorHost, CoordinatorRecord
from oncelog.broker.coordinator.share.share_group import ShareGroup
from oncelog.broker.log.producers.verification_state import TransactionSupportedOperation, Verification
from oncelog.errors import Error
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.ports import Random
from oncelog.runtime.timers import Timer, Timers
from oncelog.settings.config import BrokerConfig
from oncelog.types import ProducerIdAndEpoch, TopicPartition, encode_uuid

if TYPE_CHECKING:
    from oncelog.broker.coordinator.share.share_coordinator import ShareCoordinator

Group = ClassicGroup | ConsumerGroup | ShareGroup
Records = Sequence[CoordinatorRecord]


class GroupHost(CoordinatorHost, Protocol):
    """What the group coordinator needs from the broker, in addition to a log: transactions, topics and the settings of
    groups."""

    def verify_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partition: TopicPartition,
        operation: TransactionSupportedOperation,
        now_ms: int,
    ) -> Deferred[Verification]:
        """Verify that the producer's transaction contains ``partition``; ADD_PARTITION adds the partition first
        (KIP-890). The guard in the result goes with the records that are then written."""
        ...

    def topic_partitions(self, topic: str) -> int | None:
        """The number of partitions, or None if the topic does not exist."""
        ...

    def topic_id(self, topic: str) -> bytes | None: ...

    def topic_name(self, topic_id: bytes) -> str | None: ...

    def topics(self) -> Set[str]:
        """The names of all topics, including internal ones; the call takes no time, no matter how many there are."""
        ...

    def group_settings(self, group_id: str) -> Mapping[str, str]:
        """Settings of one group (the GROUP resource of IncrementalAlterConfigs); validated when they were set."""
        ...

    @property
    def share_states(self) -> ShareCoordinator:
        """The stored states of share partitions."""
        ...

    def share_states_changed(self, group_id: str) -> None:
        """Called when states of a share group were removed or replaced: leaders must read them again."""
        ...


def everything(topic: str) -> bool:
    """Return True for every topic; used by callers without an authorizer."""
    return True


class Caller(NamedTuple):
    """The sender of a request, and the request's version. ``client_host``: the bare address. ``may_describe``: whether
    the caller may learn that a topic exists. ``node_id``: the node to which the request was sent."""

    api_version: int
    node_id: int | None
    client_id: str = ""
    client_host: str = ""
    may_describe: Callable[[str], bool] = everything

    @property
    def logged_host(self) -> str:
        """The client's address in the form that Java prints and Kafka stores: with a leading slash."""
        return self.client_host if self.client_host.startswith("/") else f"/{self.client_host}"


TimerName = tuple[str, str, str]
"""A timer's kind, group id and member id; the ids are empty for a timer of no group or no member."""


class NamedTimers:
    """Timers identified by name: scheduling a name again replaces its timer."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._by_group: dict[str, dict[TimerName, Timer]] = {}

    def schedule(self, name: TimerName, at_ms: int, callback: Callable[[int], None]) -> None:
        self.cancel(name)

        def fire(now_ms: int) -> None:
            self._forget(name)
            callback(now_ms)

        self._by_group.setdefault(name[1], {})[name] = self._timers.schedule(at_ms, fire)

    def since(self, now_ms: int) -> Callable[[], int]:
        """See :meth:`Timers.since`, which this calls."""
        return self._timers.since(now_ms)

    def cancel(self, name: TimerName) -> None:
        timer = self._forget(name)
        if timer is not None:
            timer.cancel()

    def fire(self, name: TimerName, now_ms: int) -> bool:
        """Fire a timer now; returns False if no timer has that name."""
        timer = self._forget(name)
        if timer is None or timer.callback is None:
            return False
        callback = timer.callback
        timer.cancel()
        callback(now_ms)
        return True

    def due(self, kind: str, group_id: str, now_ms: int) -> Iterator[str]:
        """The members of a group whose timer of this kind is due."""
        for (found, _, member_id), timer in self._by_group.get(group_id, {}).items():
            if found == kind and timer.at_ms <= now_ms:
                yield member_id

    def __contains__(self, name: TimerName) -> bool:
        return name in self._by_group.get(name[1], {})

    def cancel_group(self, group_id: str) -> None:
        for timer in self._by_group.pop(group_id, {}).values():
            timer.cancel()

    def cancel_all(self) -> None:
        for group_id in list(self._by_group):
            self.cancel_group(group_id)

    def _forget(self, name: TimerName) -> Timer | None:
        timers = self._by_group.get(name[1])
        timer = None if timers is None else timers.pop(name, None)
        if timers is not None and not timers:
            del self._by_group[name[1]]
        return timer


class GroupWrite(Protocol):
    def __call__(self, records: Records, now_ms: int, *, apply: Callable[[int], None] | None = None) -> Deferred[Error]:
        """Append records and apply them; resolves with NONE once they are committed, else with the log's error.

        :param apply: called instead of replaying the records (:meth:`CoordinatorRuntime.write`).
        """
        ...


@dataclass(slots=True)
class Environment:
    """What the parts of one shard have in common. ``groups`` are the shard's groups by id, of all kinds."""

    host: GroupHost
    settings: Callable[[], BrokerConfig]
    random: Random
    partition: TopicPartition
    write: GroupWrite
    timers: NamedTimers
    groups: dict[str, Group] = field(default_factory=dict)

    @property
    def config(self) -> BrokerConfig:
        """The settings currently in force."""
        return self.settings()

    def group_setting(self, group_id: str, name: str) -> int:
        """The value of a group's setting as a number: the group's own, or else the broker's ``group.<name>`` (Kafka's
        ``GroupConfig``)."""
        own = self.host.group_settings(group_id).get(name)
        return int(own) if own is not None else self.number(f"group.{name}")

    def number(self, name: str) -> int:
        """The value of a broker setting that is no field of ``BrokerConfig``, as an integer; 0 if it is not set."""
        return int(self.config.text(name) or 0)

    @property
    def migration_policy(self) -> str:
        """Whether groups may change protocol while they have members: disabled, upgrade, downgrade, bidirectional."""
        return (self.config.text("group.consumer.migration.policy") or "").lower()

    def random_id(self) -> str:
        """A version 4 UUID in 22 characters, in the form of Kafka's ``Uuid``; it never starts with a dash."""
        while True:
            text = encode_uuid(self._random_uuid())
            if not text.startswith("-"):
                return text

    def _random_uuid(self) -> bytes:
        token = bytearray(self.random.token(16))
        token[6] = token[6] & 0x0F | 0x40
        token[8] = token[8] & 0x3F | 0x80
        return bytes(token)

    def random_uuid(self) -> str:
        """A version 4 UUID in Java's form, which Kafka appends to the ids of classic members."""
        text = self._random_uuid().hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
