"""Provides what a flow needs: a broker behind an observed proxy, clients that are actors, and access to the logs.

The broker is embedded, in memory, or an existing cluster (through the proxy, with a topic that the lab creates and then
deletes). Clients that are not actors use the same proxy but are not shown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import RawBatch
from oncelog.apps.conformance.raw.bodies import READ_COMMITTED, READ_UNCOMMITTED
from oncelog.apps.conformance.raw.group_members import committed_once_stable
from oncelog.apps.conformance.raw.share_members import needs_share_groups, send_members_away, set_group
from oncelog.apps.conformance.raw.single_node import name_on_node, single_node
from oncelog.apps.conformance.raw.transactional_producer import find_coordinator
from oncelog.apps.conformance.raw.wire import GROUP, TRANSACTION, RawConnection, TestedCluster
from oncelog.apps.lab.recorder import Recorder
from oncelog.apps.lab.trace import BROKER, COORDINATOR, PARTITION, Promise, TraceBatch, TraceEvent, TraceKind
from oncelog.apps.proxy.proxy import FaultProxy
from oncelog.broker.coordinator.shown_records import transition
from oncelog.client import aio
from oncelog.client.aio.admin.log_reader import stored_batches
from oncelog.client.background import background
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, NewTopic
from oncelog.client.core.client_errors import UnknownTopicOrPartitionError
from oncelog.client.core.config import AdminConfig, ClientConfig, known_properties
from oncelog.embedded import Broker
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.runtime.chance import uuid4
from oncelog.types import TRANSACTION_STATE_TOPIC, TopicPartition, java_hash_partition

if TYPE_CHECKING:
    from oncelog.broker.faults.embedded import BrokerFaults

VERIFICATION = "transaction.partition.verification.enable"
_TOPIC = "orders"
_ENDED = ("Empty", "CompleteCommit", "CompleteAbort")
_TIMEOUT_S = 60.0


class LabError(OncelogError):
    """The flow cannot be run on this broker or cluster."""


class FlowContext:
    """The environment of one flow.

    :param proxy: the proxy that actors connect to.
    :param aside: the address for requests of the lab itself, which are not shown.
    """

    def __init__(
        self, proxy: FaultProxy, aside: str, world: TestedCluster, recorder: Recorder, inside: BrokerFaults | None
    ) -> None:
        self.recorder = recorder
        self.proxy = proxy
        self.faults = proxy.faults
        self._aside = aside
        self.promises: list[Promise] = []
        self._inside = inside
        self._world = world
        self._raw_world = TestedCluster(world.node_id, 1, world.offered, features=world.features)
        """What raw clients know about the cluster; with one node only, so that they send every request to the proxy."""
        self._seen = 0
        self._ids: dict[str, str] = {}
        self._reported: set[tuple[str, int]] = set()
        self._closing = contextlib.ExitStack()
        own = "" if inside is not None else f"oncelog-lab-{uuid4().hex[:8]}-"
        self.topic = own + _TOPIC
        self._prefix = own
        watcher = RawConnection(
            self._aside, client_id="lab", timeout_s=_TIMEOUT_S, world=self._raw_world, login=world.login
        )
        self._watcher = self._closing.enter_context(watcher)
        asking = Admin(bootstrap_servers=self._aside, client_id="lab", **_keywords(world.login))
        self._admin = self._closing.enter_context(asking)

    @property
    def servers(self) -> str:
        return self.proxy.bootstrap_servers

    @property
    def inside(self) -> BrokerFaults:
        """The faults of the embedded broker.

        :raises LabError: the flow runs on a cluster.
        """
        if self._inside is None:
            raise LabError("a coordinator cannot be crashed from outside: leave --bootstrap-server out")
        return self._inside

    def open(self) -> None:
        """Create the topic, with its replicas on the node that the lab uses."""
        # registered before the topic is created: otherwise an interruption could leave the topic behind
        self._closing.callback(self._delete_topic)
        self._create_topic()

    def _create_topic(self) -> None:
        self._admin.create_topics(
            [
                NewTopic(
                    self.topic,
                    replica_assignments={0: [self._world.node_id]},
                    topic_configs={"min.insync.replicas": "1"},
                )
            ]
        )
        eventually(lambda: self._watcher.fetch(self.topic).error == 0, _TIMEOUT_S)

    def topic_id(self) -> bytes:
        return self._watcher.topic_id(self.topic)

    def make_topic_again(self) -> None:
        """Delete the topic, and create a new one of the same name."""
        self._admin.delete_topics([self.topic])
        eventually(lambda: self.topic_id() == ZERO_UUID, _TIMEOUT_S)
        self._create_topic()
        self._seen = 0

    def _delete_topic(self) -> None:
        try:
            self._delete_if_there()
        except (KeyboardInterrupt, SystemExit):  # the deletion was interrupted: repeat it
            self._delete_if_there()
            raise

    def _delete_if_there(self) -> None:
        with contextlib.suppress(UnknownTopicOrPartitionError):
            self._admin.delete_topics([self.topic])

    def close(self) -> None:
        self._closing.close()

    # --- actors

    def producer(self, actor: str, transactional_id: str | None = None, **settings: Any) -> Producer:
        """An oncelog producer for an actor, as a user would create it; it is closed with the context."""
        if transactional_id is not None:
            settings["transactional_id"] = self.transactional_id(transactional_id)
        settings |= _keywords(self.proxy.client_properties)
        producer = Producer(bootstrap_servers=self.servers, client_id=actor, **settings)
        self._closing.callback(producer.close)
        return producer

    def _warm_up(self, transactional_id: str) -> None:
        """Wait until the transactional id's coordinator serves, because the creation of a cluster's first coordinator
        is not part of a flow."""
        try:
            self._admin.describe_transactions([transactional_id])
        except KafkaError as error:
            if error.error is not Error.TRANSACTIONAL_ID_NOT_FOUND:
                raise

    def transactional_id(self, name: str) -> str:
        """The transactional id of this name for the flow; its coordinator is the node that the lab uses."""
        if name not in self._ids:
            self._ids[name] = name_on_node(self._watcher, self._world, self._prefix + name, TRANSACTION)
            self._warm_up(self._ids[name])
        return self._ids[name]

    def group(self, name: str) -> str:
        """A group of consumers for the flow, which is deleted at the end."""
        group = name_on_node(self._watcher, self._world, self._prefix + name, GROUP)
        find_coordinator(self._watcher, group, GROUP)
        self._closing.callback(self._delete_group, group)
        return group

    def committed(self, group: str) -> int | None:
        """The group's offset in the partition, once no transaction has a pending offset for it."""
        found = committed_once_stable(self._watcher, group, self.topic)
        return None if found < 0 else found

    def share_group(self, name: str) -> tuple[str, bytes]:
        """A share group for the flow, which reads the topic from its beginning, and the topic's id. It is deleted at
        the end.

        :raises NotOffered: the cluster has no share groups.
        """
        needs_share_groups(self._watcher)
        group = name_on_node(self._watcher, self._world, self._prefix + name, GROUP)
        find_coordinator(self._watcher, group, GROUP)
        set_group(self._watcher, group, "share.auto.offset.reset", "earliest")
        self._closing.callback(self._delete_share_group, group)
        return group, self.topic_id()

    def _delete_share_group(self, group: str) -> None:
        """Delete a share group and its settings; members that are still in it are made to leave first."""
        set_group(self._watcher, group, "share.auto.offset.reset", None)
        send_members_away(self._watcher, group)
        self._delete_group(group)

    def _delete_group(self, group: str) -> None:
        with contextlib.suppress(KafkaError):
            self._admin.delete_consumer_groups([group])

    def admin(self, actor: str) -> Admin:
        login = _keywords(self.proxy.client_properties)
        return self._closing.enter_context(Admin(bootstrap_servers=self.servers, client_id=actor, **login))

    def _connection(self, actor: str) -> RawConnection:
        login = self.proxy.client_properties
        return RawConnection(self.servers, client_id=actor, timeout_s=_TIMEOUT_S, world=self._raw_world, login=login)

    def raw(self, actor: str) -> RawConnection:
        """A raw client for an actor, which can also do what a correct client would not do."""
        return self._closing.enter_context(self._connection(actor))

    def read(self, actor: str, *, committed: bool = True) -> list[str]:
        """Fetch once from the start of the partition; returns the records that a consumer would deliver to its
        program."""
        with self._connection(actor) as connection:
            isolation = READ_COMMITTED if committed else READ_UNCOMMITTED
            found = connection.fetch(self.topic, isolation=isolation)
            if committed:
                records = found.committed()
            else:
                records = [item for batch in found.batches if not batch.is_control for item in batch.records()]
        values = [(record.value or b"").decode() for record in records]
        self.recorder.wait(lambda recorder: recorder.events[-1].target == actor)
        self.note(actor, f"gets {', '.join(values)}" if values else "gets nothing")
        return values

    # --- events that are not on the wire

    def note(self, actor: str, text: str) -> None:
        self.recorder.add(TraceEvent(TraceKind.NOTE, actor, actor, text))

    def promise(self, text: str, held: bool) -> None:
        self.promises.append(Promise(text, held))

    def lane(self, role: str) -> str:
        return self.recorder.lane(role)

    def ended(self, name: str) -> None:
        """Wait until the coordinator has ended the transaction, and add what the logs of the partition and of the
        coordinator contain about it."""
        transactional_id = self.transactional_id(name)

        def state() -> bool:
            (found,) = self._admin.describe_transactions([transactional_id])
            return found.state in _ENDED

        eventually(state, _TIMEOUT_S)
        self.look(transactional_id)

    def look(self, transactional_id: str | None = None) -> None:
        """Add the partition's markers, and the decisions of the coordinator about one id, that are new since the last
        call."""
        batches = self._batches()
        news: list[tuple[int, int, TraceEvent]] = []
        partition = self.lane(PARTITION)
        for batch in batches:
            if batch.base_offset < self._seen or not batch.is_control:
                continue
            end, coordinator_epoch = batch.marker()
            text = f"{end} marker at offset {batch.base_offset}: PID {batch.pid}, epoch {batch.epoch}"
            fields = {"offset": batch.base_offset, "marker": end, "coordinator_epoch": coordinator_epoch}
            news.append(
                (
                    batch.max_timestamp,
                    1,
                    TraceEvent(TraceKind.LOG, self.lane(COORDINATOR), partition, text, fields=fields),
                )
            )
        self._seen = batches[-1].last_offset + 1 if batches else 0
        if transactional_id is not None:
            news += self._decisions(transactional_id)
        for _, _, event in sorted(news, key=lambda item: item[:2]):
            self.recorder.add(event)

    def _decisions(self, transactional_id: str) -> list[tuple[int, int, TraceEvent]]:
        """The Prepare and Complete records of ``__transaction_state`` about one id, as events; none if that topic may
        not be read."""
        lane = self.lane(COORDINATOR)
        try:
            found = background().run(_history(self._aside, self._world.login, transactional_id))
        except KafkaError as error:
            self.note(lane, f"its log may not be read: {error.error.name}")
            return []
        events = []
        for timestamp, offset, state in found:
            if (transactional_id, offset) in self._reported or not state.startswith(("Prepare", "Complete")):
                continue
            self._reported.add((transactional_id, offset))
            rank = 0 if state.startswith("Prepare") else 2
            events.append((timestamp, rank, TraceEvent(TraceKind.LOG, lane, lane, state, fields={"state": state})))
        return events

    def _batches(self) -> list[RawBatch]:
        """The whole partition."""
        batches: list[RawBatch] = []
        offset = 0
        while found := self._watcher.fetch(self.topic, offset).batches:
            batches += found
            offset = found[-1].last_offset + 1
        return batches

    def log(self) -> list[TraceBatch]:
        """The batches of the partition, each with its outcome."""
        batches = self._batches()
        return [_entry(batch, batches[index + 1 :]) for index, batch in enumerate(batches)]

    def setting_of_broker(self, name: str) -> str | None:
        resource = ConfigResource(ConfigResourceType.BROKER, str(self._world.node_id))
        (found,) = self._admin.describe_configs([resource]).values()
        return found[name].value if name in found else None


def _entry(batch: RawBatch, later: Sequence[RawBatch]) -> TraceBatch:
    coordinator_epoch = None
    values: tuple[str, ...] = ()
    if batch.is_control:
        end, coordinator_epoch = batch.marker()
        outcome = f"{end} marker"
    else:
        values = tuple((record.value or b"").decode(errors="replace") for record in batch.records())
        if not batch.is_transactional:
            outcome = "not transactional"
        else:
            ends = (other.marker()[0] for other in later if other.is_control and other.pid == batch.pid)
            outcome = {"commit": "committed", "abort": "aborted", "": "open"}[next(ends, "")]
    return TraceBatch(
        batch.base_offset, batch.last_offset, outcome, batch.pid, batch.epoch, batch.sequence, values, coordinator_epoch
    )


def _keywords(properties: Mapping[str, str]) -> dict[str, Any]:
    """Kafka's properties as keyword arguments of a client's constructor."""
    known = known_properties(ClientConfig)
    return {known[name].name: value for name, value in properties.items()}


async def _history(servers: str, login: Mapping[str, str], transactional_id: str) -> list[tuple[int, int, str]]:
    """The timestamp, offset and state of each record of ``__transaction_state`` about one id."""
    async with aio.Admin(bootstrap_servers=servers, client_id="lab", **_keywords(login)) as admin:
        names = await admin.partitions(TRANSACTION_STATE_TOPIC)
        name = TopicPartition(TRANSACTION_STATE_TOPIC, java_hash_partition(transactional_id, len(names)))
        first = (await admin.list_offsets({name: -2}))[name].offset
        end = (await admin.list_offsets({name: -1}))[name].offset
        found = []
        async for batch in stored_batches(admin, name, first, end):
            for record in batch.records:
                change = transition(record)
                if change is not None and change[0] == transactional_id and change[1] is not None:
                    found.append((record.timestamp, record.offset, change[1].state.label))
        return found


@contextlib.contextmanager
def set_up(
    actors: Sequence[str], *, apart: bool, cluster: AdminConfig | None, settings: dict[str, object]
) -> Iterator[FlowContext]:
    """The environment of one flow, as a context.

    :param apart: show coordinator and partition as two lanes, not as one broker.
    :param cluster: how to reach a cluster; None for an embedded broker.
    :param settings: those of the embedded broker.
    """
    lanes = {COORDINATOR: COORDINATOR, PARTITION: f"{_TOPIC}-0"} if apart else {COORDINATOR: BROKER, PARTITION: BROKER}
    recorder = Recorder(actors, lanes)
    with contextlib.ExitStack() as closing:
        inside = None
        if cluster is None:
            broker = closing.enter_context(Broker(settings=settings))
            inside = broker.faults
            cluster = AdminConfig.from_properties({"bootstrap.servers": broker.bootstrap_servers})
        address, world = closing.enter_context(single_node(cluster))
        proxy = closing.enter_context(FaultProxy(address, upstream=world.login or None, observer=recorder))
        context = FlowContext(proxy, address, world, recorder, inside)
        closing.callback(context.close)
        context.open()
        yield context
