"""Faults inside a broker: on requests before they reach it, on markers before they reach partitions, on its disk.

It runs on the broker's own thread; the threads of tests share only the rules. Requests of a connection keep their
order: a request that waits delays those behind it, as on a network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oncelog.broker.coordinator.share.share_coordinator import coordinator_key
from oncelog.broker.core.requests.session import Channel, Part, Session
from oncelog.broker.faults.answers import refusal, refuse_metadata
from oncelog.broker.faults.rules import MARKER_ACTIONS, Action, Fault, Faults, Match
from oncelog.broker.faults.targets import RequestTarget, decoded, target_of
from oncelog.broker.log.results import FileSlice
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.framing import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_response_header,
)
from oncelog.protocol.messages import response_type
from oncelog.runtime.deferred import Deferred
from oncelog.types import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.coordinator.transaction.host import TxnMarker
    from oncelog.broker.core.broker import Broker
    from oncelog.protocol.struct_fields import Buffer

REORDER_TIMEOUT_MS = 500
"""A reordered request that waits for the next request is passed on after this time in ms, for clients that send one
request at a time."""
BEFORE_MARKERS, AFTER_FIRST_MARKER, AFTER_MARKERS = "prepare", "first-marker", "markers"
PHASES = (BEFORE_MARKERS, AFTER_FIRST_MARKER, AFTER_MARKERS)
"""Points in the end of a transaction at which its coordinator may crash."""
COORDINATED: Mapping[ApiKey, str] = {
    ApiKey.INIT_PRODUCER_ID: TRANSACTION_STATE_TOPIC,
    ApiKey.ADD_PARTITIONS_TO_TXN: TRANSACTION_STATE_TOPIC,
    ApiKey.ADD_OFFSETS_TO_TXN: TRANSACTION_STATE_TOPIC,
    ApiKey.END_TXN: TRANSACTION_STATE_TOPIC,
    ApiKey.SHARE_GROUP_HEARTBEAT: CONSUMER_OFFSETS_TOPIC,
    ApiKey.SHARE_FETCH: SHARE_GROUP_STATE_TOPIC,
    ApiKey.SHARE_ACKNOWLEDGE: SHARE_GROUP_STATE_TOPIC,
}
"""APIs after whose requests a coordinator may crash, each with the internal topic of that coordinator."""


class _Edited:
    """A connection as the broker sees it while the answer to one request is changed; implements ``Channel``."""

    def __init__(self, channel: Channel, edit: Callable[[int, Sequence[Part]], None]) -> None:
        self._channel = channel
        self._edit = edit
        self.session: Session = channel.session

    @property
    def connection_id(self) -> int:
        return self._channel.connection_id

    @property
    def client_host(self) -> str:
        return self._channel.client_host

    def reply(self, slot: int, parts: Sequence[Part]) -> None:
        self._edit(slot, parts)

    def throttle(self, wait_ms: int) -> None:
        self._channel.throttle(wait_ms)

    def pause_requests(self) -> None:
        self._channel.pause_requests()

    def resume_requests(self, slot: int) -> None:
        self._channel.resume_requests(slot)

    def close(self, reason: str) -> None:
        self._channel.close(reason)


class FaultInterceptor:
    """Applies the faults to one running broker; implements ``Interceptor`` and ``MarkerInterceptor``."""

    def __init__(self, broker: Broker, faults: Faults, now_ms: Callable[[], int]) -> None:
        self._broker = broker
        self._faults = faults
        self._now_ms = now_ms
        self._held: list[tuple[Fault, Callable[[], None]]] = []
        self._waiting: dict[int, Callable[[], None]] = {}

    # --- requests

    def takes(self, channel: Channel, slot: int, frame: Buffer, now_ms: int) -> bool:
        try:
            header, body = decode_request_header(frame)
        except ProtocolError:
            return False
        waiting = self._waiting.pop(channel.connection_id, None)
        candidates = self._faults.candidates(header.api_key, header.api_version, header.client_id)
        request = decoded(frame, header, body) if candidates else None
        subject = None
        if request is not None and any(fault.match.needs_body for fault in candidates):
            subject = target_of(header.api_key, request, self._topic_name)
        struck = {fault.action: fault for fault in self._faults.strike(candidates, subject)} if candidates else {}
        if not struck:
            if waiting is None:
                return False
            self._broker.handle(channel, slot, frame, now_ms)
            waiting()
            return True
        self._carry_out(struck, header, request, channel, slot, memoryview(bytes(frame)), now_ms)
        if waiting is not None:
            waiting()
        return True

    def _topic_name(self, topic_id: bytes) -> str:
        info = self._broker.metadata.topic_by_id(topic_id)
        return info.name if info is not None else ""

    def _carry_out(
        self,
        struck: dict[Action, Fault],
        header: RequestHeader,
        request: Any,
        channel: Channel,
        slot: int,
        frame: Buffer,
        now_ms: int,
    ) -> None:
        if Action.LOSE_REQUEST in struck:
            channel.close("a fault: the request is lost")
            return
        if Action.BLACKHOLE in struck:
            return
        refused = struck.get(Action.ANSWER_ERROR)
        if refused is not None and header.api_key != ApiKey.METADATA and request is not None:
            answer = refusal(header.api_key, header.api_version, request, refused.error)
            channel.reply(slot, _parts(header, answer))
            return
        target = self._edited(struck, header, channel)

        def handle(at_ms: int) -> None:
            self._broker.handle(target, slot, frame, at_ms)
            if Action.DUPLICATE in struck:
                self._broker.handle(_Edited(channel, _nothing), slot, frame, at_ms)

        if (late := struck.get(Action.DELAY_REQUEST)) is not None:
            self._broker.timers.schedule(now_ms + late.delay_ms, handle)
        elif Action.REORDER in struck:
            self._wait_for_next(channel, handle, now_ms)
        else:
            handle(now_ms)

    def _wait_for_next(self, channel: Channel, handle: Callable[[int], None], now_ms: int) -> None:
        def go() -> None:
            timer.cancel()
            handle(self._now_ms())

        def too_late(at_ms: int) -> None:
            if self._waiting.pop(channel.connection_id, None) is not None:
                handle(at_ms)

        timer = self._broker.timers.schedule(now_ms + REORDER_TIMEOUT_MS, too_late)
        self._waiting[channel.connection_id] = go

    def _edited(self, struck: dict[Action, Fault], header: RequestHeader, channel: Channel) -> Channel:
        """The connection to give to the broker: the real one, or one that changes the answer."""
        late, throttled = struck.get(Action.DELAY_ANSWER), struck.get(Action.THROTTLE)
        refused, crash = struck.get(Action.ANSWER_ERROR), struck.get(Action.CRASH_AFTER_ANSWER)
        if Action.LOSE_ANSWER not in struck and not (late or throttled or refused or crash):
            return channel

        def edit(slot: int, parts: Sequence[Part]) -> None:
            if crash is not None:
                self._crash_all(crash.match)
            if Action.LOSE_ANSWER in struck or crash is not None:
                channel.close("a fault: the answer is lost")
                return
            if parts and (throttled or refused):
                parts = _changed(header, parts, throttled, refused)
            if late is not None:
                self._broker.timers.schedule(self._now_ms() + late.delay_ms, lambda _: channel.reply(slot, parts))
            else:
                channel.reply(slot, parts)

        return _Edited(channel, edit)

    # --- markers

    def passes(
        self, marker: TxnMarker, topic_partition: TopicPartition, append: Callable[[], Deferred[Error]], now_ms: int
    ) -> Deferred[Error]:
        candidates = self._faults.of(MARKER_ACTIONS)
        if not candidates:
            return append()
        subject = RequestTarget(((topic_partition.topic, topic_partition.partition),), self._ids_of(marker), ())
        wanted = [fault for fault in candidates if not fault.phase or _is_time(fault.phase, marker, topic_partition)]
        struck = {fault.action: fault for fault in self._faults.strike(wanted, subject)}
        if Action.LOSE_MARKER in struck:
            return Deferred.of(Error.NETWORK_EXCEPTION)
        if (held := struck.get(Action.HOLD_MARKER)) is not None:
            outcome: Deferred[Error] = Deferred()
            self._held.append((held, lambda: append().then(outcome.resolve)))
            return outcome
        crash = struck.get(Action.CRASH_COORDINATOR)
        if crash is not None and crash.phase == BEFORE_MARKERS:
            self._crash(subject.transactional_ids)
            return Deferred.of(Error.NETWORK_EXCEPTION)
        written = append()
        if Action.REPEAT_MARKER in struck:
            append()
        if crash is not None:
            self._crash(subject.transactional_ids)
        return written

    def release(self, fault: Fault) -> int:
        """Write the markers that a fault has delayed; returns how many there were."""
        mine = [go for held, go in self._held if held is fault]
        self._held = [(held, go) for held, go in self._held if held is not fault]
        for go in mine:
            go()
        return len(mine)

    def held(self, fault: Fault) -> int:
        return sum(1 for held, _ in self._held if held is fault)

    def _ids_of(self, marker: TxnMarker) -> tuple[str, ...]:
        """The transactional id whose transaction a marker ends."""
        found = [
            entry.txn.transactional_id
            for shard in self._broker.transactions.runtime.shards()
            for entry in shard.entries()
            if entry.txn.producer == marker.producer
        ]
        return tuple(found)

    # --- coordinators

    def _crash(self, transactional_ids: Sequence[str]) -> None:
        for transactional_id in transactional_ids:
            partition = self._broker.nodes.coordinator_partition(TRANSACTION_STATE_TOPIC, transactional_id)
            self._broker.nodes.crash_coordinator(partition, self._now_ms())

    def _crash_all(self, match: Match) -> None:
        """Crash the coordinator of the transactional id or group that a fault names, or all coordinators of that
        kind."""
        topic = TRANSACTION_STATE_TOPIC if match.api is None else COORDINATED[match.api]
        info = self._broker.metadata.topic(topic)
        everything = range(info.partitions) if info is not None else ()
        names = self._names(topic, match)
        partitions = (
            {TopicPartition(topic, index) for index in everything}
            if names is None
            else {self._broker.nodes.coordinator_partition(topic, name) for name in names}
        )
        for partition in sorted(partitions):
            self._broker.nodes.crash_coordinator(partition, self._now_ms())

    def _names(self, topic: str, match: Match) -> Sequence[str] | None:
        """The names whose coordinators, in partitions of ``topic``, are to crash; None means all of them."""
        if topic == SHARE_GROUP_STATE_TOPIC and match.group is not None:
            held = self._broker.sharing_in_use or ()
            return [coordinator_key(each.key) for each in held if each.key.group_id == match.group]
        name = match.transactional_id if topic == TRANSACTION_STATE_TOPIC else match.group
        return None if name is None else [name]


def _is_time(phase: str, marker: TxnMarker, topic_partition: TopicPartition) -> bool:
    if phase == AFTER_MARKERS:
        return topic_partition == marker.partitions[-1]
    return topic_partition == marker.partitions[0]


def _nothing(slot: int, parts: Sequence[Part]) -> None:
    """Ignore the second answer to a duplicated request."""


def _parts(header: RequestHeader, body: bytes) -> list[Part]:
    return [encode_response_header(header.api_key, header.api_version, header.correlation_id, len(body)), body]


def _changed(
    header: RequestHeader, parts: Sequence[Part], throttled: Fault | None, refused: Fault | None
) -> Sequence[Part]:
    """The answer with a throttle time or an error inserted."""
    whole = b"".join(
        part.file.read_at(part.position, part.size_bytes) if isinstance(part, FileSlice) else part for part in parts
    )
    _, position = decode_response_header(memoryview(whole)[4:], header.api_key, header.api_version)
    answer: Any = response_type(header.api_key).decode(memoryview(whole)[4:], header.api_version, position)
    if throttled is not None:
        answer.throttle_time_ms = throttled.delay_ms
    if refused is not None:
        refuse_metadata(answer, refused.error)
    return _parts(header, answer.encode(header.api_version))
