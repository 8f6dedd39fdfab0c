"""Members of share groups (KIP-932) that speak the protocol directly, and note what they are given and what they say of
it.

A member fetches, accepts most records, releases, rejects, renews and keeps others, is late, leaves and comes back. Once
the world is calm it accepts everything, so that nothing remains that could be delivered.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from oncelog.client.aio.connection.cluster_access import ClusterAccess
from oncelog.client.core.client_errors import error_for, error_of
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.connection.coordinator_lookup import CoordinatorType
from oncelog.client.core.connection.wire import Api
from oncelog.errors import Error, KafkaError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated import share_acknowledge_request as acks
from oncelog.protocol.generated import share_fetch_request as fetches
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.protocol.generated.share_acknowledge_request import ShareAcknowledgeRequest
from oncelog.protocol.generated.share_fetch_request import ShareFetchRequest
from oncelog.protocol.generated.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from oncelog.records.batch import decode_records, iter_headers
from oncelog.testing.simulation import Simulation
from oncelog.types import TopicPartition
from tests.simulation.history import ACCEPT, GAP, REJECT, RELEASE, RENEW, Delivery, History, SharedGroup, Verdict
from tests.simulation.programs import Program

SHARE_FETCH = Api(ApiKey.SHARE_FETCH, 1, 2)
SHARE_ACKNOWLEDGE = Api(ApiKey.SHARE_ACKNOWLEDGE, 2, 2)
SHARE_GROUP_HEARTBEAT = Api(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1)
INCREMENTAL_ALTER_CONFIGS = Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, 1)
HEARTBEAT_S, MAX_WAIT_MS = 0.8, 400
ITERATION_MS = 100
"""A broker looks at its clock at the begin of an iteration of its loop, and a fetch that a write wakes sees that of the
iteration before the write: so much earlier may a lock end."""
GROUP_RESOURCE, SET = 32, 0
REJOINS = (Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH, Error.GROUP_ID_NOT_FOUND)
UNDECIDED = (Error.COORDINATOR_NOT_AVAILABLE,)
"""After these errors the acknowledgement may be stored nevertheless: the state's leader moved before it answered."""
LEAVES = -1
KINDS = (ACCEPT,) * 10 + (RELEASE, RELEASE, REJECT, RENEW, GAP)
"""What becomes of a record; GAP: it is not acknowledged."""

ENDS = (ACCEPT, RELEASE)
"""What becomes of a record whose lock was renewed."""

Place = tuple[bytes, int]
"""Topic id and partition."""


@dataclass
class _Session:
    """A share session at one node. ``held``: what was acquired in it and not acknowledged; ``due``: what is to be
    acknowledged next."""

    node: int
    epoch: int = 0
    places: list[Place] = field(default_factory=list)
    held: list[Delivery] = field(default_factory=list)
    due: list[tuple[Delivery, int]] = field(default_factory=list)


class Sharer(Program):
    """One member; another life, or a second instance, is another member of the group."""

    def __init__(
        self, world: Simulation, history: History, name: str, group: SharedGroup, partitions: int, **settings: Any
    ) -> None:
        super().__init__(world, history, name, settings)
        history.shared[group.name] = group
        self.group = group
        self.partitions = partitions
        self.stays_s = 20.0
        """The average time between its joining the group and its leaving it."""
        self.late = 0.1
        """How often its acknowledgements come late."""

    async def live(self, life: str) -> None:
        cluster = ClusterAccess(ClientConfig.from_keywords(**self.settings), timeout_ms=10_000)
        try:
            await cluster.start()
            await self._configure(cluster)
            await cluster.topic(self.group.topic)
            memberships = 0
            while not self.done:
                memberships += 1
                await _Membership(self, cluster, f"{life}.{memberships}").serve()
                await asyncio.sleep(self.rng.expovariate(1.0))
        finally:
            await cluster.close()

    async def _configure(self, cluster: ClusterAccess) -> None:
        settings = {
            "share.auto.offset.reset": "earliest",
            "share.isolation.level": "read_committed" if self.group.is_committed else "read_uncommitted",
            "share.delivery.count.limit": str(self.group.limit),
            "share.record.lock.duration.ms": str(self.group.lock_ms),
            "errors.deadletterqueue.topic.name": self.group.dead_letter_topic,
        }
        configs = [AlterableConfig(name, SET, value) for name, value in settings.items()]
        resource = AlterConfigsResource(GROUP_RESOURCE, self.group.name, configs)

        async def ask() -> None:
            request = IncrementalAlterConfigsRequest([resource])
            answer = await cluster.ask_any(INCREMENTAL_ALTER_CONFIGS, request)
            _check(answer.responses[0].error_code, "the settings of a group")

        await cluster.repeat("IncrementalAlterConfigs", ask)


class _Membership:
    """From joining the group to leaving it."""

    def __init__(self, program: Sharer, cluster: ClusterAccess, member_id: str) -> None:
        self._program = program
        self._group = program.group
        self._history = program.history
        self._loop = program.world.loop
        self._rng = program.rng
        self._cluster = cluster
        self._member_id = member_id
        self._epoch = 0
        self._assigned: list[Place] = []
        self._topics: dict[bytes, str] = {}
        self._sessions: dict[int, _Session] = {}
        self._lock_ns = (program.group.lock_ms - ITERATION_MS) * 1_000_000
        self._heartbeat_s = 0.0

    @property
    def _is_calm(self) -> bool:
        return self._program.world.is_calm

    async def serve(self) -> None:
        leaves_s = self._program.world.now_s + self._rng.expovariate(1 / self._program.stays_s)
        while not self._program.done and (self._is_calm or self._program.world.now_s < leaves_s):
            await self._heartbeat()
            for node, places in sorted(self._by_leader().items()):
                try:
                    await self._work(self._sessions.setdefault(node, _Session(node)), places)
                except KafkaError as error:
                    self._failed(node, error)
            if not self._sessions:
                await asyncio.sleep(0.2)
        await self._leave()

    def _failed(self, node: int, error: KafkaError) -> None:
        """The session's end; what was acquired in it comes to others."""
        self._program.world.note(f"share session: {error.error.name}", self._program.name)
        self._sessions.pop(node, None)
        self._cluster.metadata.request_update()

    # --- membership

    async def _heartbeat(self) -> None:
        now_s = self._program.world.now_s
        if now_s < self._heartbeat_s:
            return
        self._heartbeat_s = now_s + HEARTBEAT_S
        try:
            answer = await self._ask_coordinator(self._epoch)
        except KafkaError as error:
            if error.error not in REJOINS:
                raise
            self._epoch, self._assigned, self._heartbeat_s = 0, [], 0.0
            self._sessions.clear()
            return
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            self._assigned = [
                (topic.topic_id, index) for topic in answer.assignment.topic_partitions for index in topic.partitions
            ]

    async def _ask_coordinator(self, epoch: int) -> Any:
        topics = [self._group.topic] if epoch == 0 else None
        request = ShareGroupHeartbeatRequest(self._group.name, self._member_id, epoch, None, topics)

        async def ask(node: int) -> Any:
            answer = await self._cluster.ask(node, SHARE_GROUP_HEARTBEAT, request, channel=1)
            _check(answer.error_code, f"the heartbeat of {self._member_id}")
            return answer

        finder = self._cluster.finder(CoordinatorType.GROUP, self._group.name)
        return await self._cluster.at_coordinator("ShareGroupHeartbeat", finder, ask)

    async def _leave(self) -> None:
        for node, session in list(self._sessions.items()):
            try:
                await self._acknowledge(session, [], ends=True)
            except KafkaError as error:
                self._failed(node, error)
        try:
            await self._ask_coordinator(LEAVES)
        except KafkaError as error:
            self._program.world.note(f"left: {error.error.name}", self._program.name)

    def _by_leader(self) -> dict[int, list[Place]]:
        metadata = self._cluster.metadata
        topic = metadata.topics.get(self._group.topic)
        found: dict[int, list[Place]] = defaultdict(list)
        if topic is not None:
            self._topics[topic.topic_id] = topic.name
            for place in self._assigned:
                if place[0] == topic.topic_id and place[1] < topic.partition_count:
                    found[topic.partitions[place[1]].leader].append(place)
        found.pop(-1, None)
        return found

    # --- records

    async def _work(self, session: _Session, places: Sequence[Place]) -> None:
        """Acknowledge what is due, in a request of its own or in the next fetch, and fetch."""
        due, session.due = session.due, []
        renews = any(kind == RENEW for _, kind in due)
        if due and not self._is_calm and self._rng.random() < self._program.late:
            await asyncio.sleep(self._rng.uniform(0, 1.5 * self._group.lock_ms / 1000))
        if due and (renews or self._rng.random() < 0.5):
            await self._acknowledge(session, due)
            due = []
        await self._fetch(session, places, due)

    async def _acknowledge(self, session: _Session, due: Sequence[tuple[Delivery, int]], *, ends: bool = False) -> None:
        topics: dict[bytes, acks.AcknowledgeTopic] = {}
        for (topic_id, index), batches in self._batches(due):
            topic = topics.setdefault(topic_id, acks.AcknowledgeTopic(topic_id, []))
            taken = [acks.AcknowledgementBatch(*batch) for batch in batches]
            topic.partitions.append(acks.AcknowledgePartition(index, taken))
        epoch = LEAVES if ends else session.epoch
        renews = any(kind == RENEW for _, kind in due)
        request = ShareAcknowledgeRequest(self._group.name, self._member_id, epoch, renews, list(topics.values()))
        verdicts, held, asked_ns = self._decide(due), self._held(session, due), self._loop.now_ns
        answer = await self._cluster.ask(session.node, SHARE_ACKNOWLEDGE, request)
        _check(answer.error_code, f"acknowledgements of {self._member_id}")
        session.epoch += 1
        errors = {
            TopicPartition(self._topics[topic.topic_id], part.partition_index): error_of(part.error_code)
            for topic in answer.responses
            for part in topic.partitions
        }
        self._answered(verdicts, errors)
        self._known(
            session, held, asked_ns, failed=[where for where, error in errors.items() if error is not Error.NONE]
        )
        for delivery, kind in due:
            if kind == RENEW and errors[delivery.where] is Error.NONE:
                if self._loop.now_ns < delivery.locked_ns + self._lock_ns:
                    delivery.locked_ns = asked_ns  # else it may be a record that was done meanwhile
                session.held.append(delivery)
                session.due.append((delivery, self._rng.choice(ENDS)))

    async def _fetch(self, session: _Session, places: Sequence[Place], due: Sequence[tuple[Delivery, int]]) -> None:
        batches = dict(self._batches(due))
        topics: dict[bytes, fetches.FetchTopic] = {}
        for topic_id, index in dict.fromkeys((*(place for place in places if place not in session.places), *batches)):
            topic = topics.setdefault(topic_id, fetches.FetchTopic(topic_id, []))
            taken = [fetches.AcknowledgementBatch(*batch) for batch in batches.get((topic_id, index), ())]
            topic.partitions.append(fetches.FetchPartition(index, 0, taken))
        gone = [place for place in session.places if place not in places]
        request = ShareFetchRequest(
            self._group.name, self._member_id, session.epoch, MAX_WAIT_MS, 1, 1 << 20, self._rng.choice([1, 3, 20]), 20,
            self._rng.randrange(2), False, list(topics.values()),
            [fetches.ForgottenTopic(topic_id, [index]) for topic_id, index in gone],
        )  # fmt: skip
        verdicts, held, asked_ns = self._decide(due), self._held(session, due), self._loop.now_ns
        self._history.unanswered[self._group.name] += 1
        answer = await self._cluster.ask(session.node, SHARE_FETCH, request)
        self._history.unanswered[self._group.name] -= 1
        _check(answer.error_code, f"a fetch of {self._member_id}")
        session.epoch += 1
        session.places = list(places)
        errors: dict[TopicPartition, Error] = {}
        failed: list[TopicPartition] = []
        for topic_found in answer.responses:
            for part in topic_found.partitions:
                where = TopicPartition(self._topics[topic_found.topic_id], part.partition_index)
                errors[where] = error_of(part.acknowledge_error_code)
                if error_of(part.error_code) is not Error.NONE:
                    failed.append(where)
        self._answered(verdicts, errors)
        self._known(session, held, asked_ns, failed)
        for topic_found in answer.responses:
            for part in topic_found.partitions:
                self._take(
                    session, TopicPartition(self._topics[topic_found.topic_id], part.partition_index), part, asked_ns
                )
        if failed:
            self._cluster.metadata.request_update()
            await asyncio.sleep(0.1)

    def _take(self, session: _Session, where: TopicPartition, part: Any, asked_ns: int) -> None:
        """Note what was acquired, and decide what becomes of it."""
        data = bytes(part.records or b"")
        values = {
            record.offset: bytes(record.value or b"")
            for position, header in iter_headers(data)
            if not header.is_control
            for record in decode_records(data[position : position + header.size_bytes])
        }
        now_ns = self._loop.now_ns
        for acquired in part.acquired_records:
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                value = values.get(offset)
                delivery = Delivery(
                    self._group.name, self._member_id, where, offset, value, acquired.delivery_count, asked_ns, now_ns
                )
                self._history.deliveries.append(delivery)
                session.held.append(delivery)
                kind = self._kind()
                if kind != GAP:
                    session.due.append((delivery, kind))

    def _kind(self) -> int:
        return ACCEPT if self._is_calm else self._rng.choice(KINDS)

    def _batches(self, due: Sequence[tuple[Delivery, int]]) -> Iterator[tuple[Place, list[tuple[int, int, list[int]]]]]:
        """The acknowledgements of each partition: neighbours in one batch, with one type if it is the same for all."""
        ids = {name: topic_id for topic_id, name in self._topics.items()}
        found: dict[TopicPartition, list[tuple[int, int, list[int]]]] = {}
        for delivery, kind in sorted(due, key=lambda each: (each[0].where, each[0].offset)):
            batches = found.setdefault(delivery.where, [])
            if batches and batches[-1][1] == delivery.offset - 1:
                first, _, kinds = batches[-1]
                batches[-1] = (first, delivery.offset, [*kinds, kind])
            else:
                batches.append((delivery.offset, delivery.offset, [kind]))
        for where, batches in found.items():
            shown = [(first, last, kinds[:1] if len(set(kinds)) == 1 else kinds) for first, last, kinds in batches]
            yield (ids[where.topic], where.partition), shown

    # --- what is known

    def _decide(self, due: Sequence[tuple[Delivery, int]]) -> list[Verdict]:
        verdicts = [Verdict(delivery, kind, self._loop.now_ns) for delivery, kind in due if kind != RENEW]
        self._history.verdicts += verdicts
        return verdicts

    def _answered(self, verdicts: Sequence[Verdict], errors: dict[TopicPartition, Error]) -> None:
        for one in verdicts:
            error = errors[one.delivery.where]
            one.is_done = None if error in UNDECIDED else error is Error.NONE
            one.known_ns = self._loop.now_ns

    def _held(self, session: _Session, due: Sequence[tuple[Delivery, int]]) -> list[Delivery]:
        """What the member holds as a request is sent; what the request acknowledges it holds no longer than that."""
        held = session.held
        decided = {id(delivery) for delivery, _ in due}
        session.held = [delivery for delivery in held if id(delivery) not in decided]
        return held

    def _known(
        self, session: _Session, held: Sequence[Delivery], asked_ns: int, failed: Sequence[TopicPartition]
    ) -> None:
        """The session was there when the request came: until it was sent, what was held was held for sure."""
        session.held = [delivery for delivery in session.held if delivery.where not in failed]
        for delivery in held:
            if delivery.where not in failed:
                delivery.held_until_ns = max(delivery.held_until_ns, min(asked_ns, delivery.locked_ns + self._lock_ns))


def _check(code: int, what: str) -> None:
    error = error_of(code)
    if error is not Error.NONE:
        raise error_for(error, what)


__all__ = ["Sharer"]
