"""A raw client: sockets and bytes, so that oncelog's own codecs cannot hide their own faults.

Record batches, Produce and Fetch are written and read by hand (``batches``, ``bodies``). Other requests, which are not
on the path of records, use the generated messages. Waiting is always for a condition, never for a fixed time.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oncelog.apps.conformance.expect import CheckFailed, NotOffered, eventually, same
from oncelog.apps.conformance.raw.batches import RawRecord
from oncelog.apps.conformance.raw.bodies import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchAnswer,
    Produced,
    RawFetched,
    RawFetchPosition,
    fetch_body,
    parse_fetch,
    parse_produce,
    produce_body,
)
from oncelog.client.core.releases import first_with, is_since, shown_by
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import decode_response_header, encode_request_header
from oncelog.protocol.generated.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message

PRODUCE, FETCH = 0, 1
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
TRANSIENT = {3, 5, 6, 14, 15, 16}
"""Errors of a topic or a coordinator while it is being set up; like clients, these checks retry."""


class ConnectionClosed(Exception):
    """The broker ended the connection instead of answering or taking the next request."""


@dataclass(slots=True)
class TestedCluster:
    """What a raw client knows about the cluster under test, and what it has created there and must remove.

    :ivar node_id: the node it is connected to, on which its topics are created.
    :ivar offered: the lowest and highest version of each API.
    :ivar topics: the topics it has created.
    """

    node_id: int
    nodes: int
    offered: Mapping[int, tuple[int, int]]
    login: Mapping[str, str] = field(default_factory=dict)
    """The credentials that a client needs, under Kafka's names; empty if it needs none."""
    features: Mapping[str, int] = field(default_factory=dict)
    """Finalized levels of features (KIP-584)."""
    topics: list[str] = field(default_factory=list)
    coordinators: dict[tuple[int, str], tuple[int, str]] = field(default_factory=dict)
    """The node and address of coordinators, by kind and key."""
    producer_ids: set[int] = field(default_factory=set)
    """Producer ids that the broker has given out."""


def coordinated_by(message: Message) -> tuple[int, str] | None:
    """The kind and key of the coordinator that a request is for; None if any node, or a leader, answers it."""
    for kind, fields in _COORDINATED.items():
        for name in fields:
            found = getattr(message, name, None) if message.API_KEY in _FOR_COORDINATORS[kind] else None
            if isinstance(found, list):
                found = found[0].group_id if found and hasattr(found[0], "group_id") else found[0] if found else None
            if found:
                return kind, str(found)
    return None


GROUP, TRANSACTION = 0, 1
"""Kinds of coordinators (``key_type`` of FindCoordinator)."""
_COORDINATED = {
    GROUP: ("groups", "groups_names", "group_ids", "group_id"),
    TRANSACTION: ("transactional_ids", "v3_and_below_transactional_id", "transactional_id"),
}
_FOR_COORDINATORS = {
    GROUP: frozenset(
        {
            *(ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.JOIN_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP),
            *(ApiKey.SYNC_GROUP, ApiKey.DESCRIBE_GROUPS, ApiKey.DELETE_GROUPS, ApiKey.TXN_OFFSET_COMMIT),
            *(ApiKey.OFFSET_DELETE, ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE),
            *(ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS),
            *(ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS),
        }
    ),
    TRANSACTION: frozenset(
        {
            *(ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN),
            ApiKey.DESCRIBE_TRANSACTIONS,
        }
    ),
}


def api_name(api_key: int) -> str:
    """The API's name as Kafka writes it."""
    return ApiKey(api_key).name.title().replace("_", "")


def _not_offered(api_key: int, version: int) -> str:
    release = first_with(ApiKey(api_key), version)
    since = "" if release is None else f": Apache Kafka has it since {release}"
    return f"{api_name(api_key)} {version} is not offered{since}"


# --- connections


class RawConnection:
    """A client with one socket, on which requests are answered in order.

    If ``world`` is given, versions that its broker does not offer are refused with NotOffered, and each coordinator on
    another node gets a connection of its own.

    :param login: user and password for SASL PLAIN under Kafka's names; without it, those of the :class:`TestedCluster`.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        client_id: str | None = "conformance",
        timeout_s: float = 60,
        world: TestedCluster | None = None,
        login: Mapping[str, str] | None = None,
    ) -> None:
        host, port = bootstrap_servers.rsplit(":", 1)
        self.bootstrap_servers = bootstrap_servers
        self.world = world
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._correlation_id = 0
        self._others: dict[str, RawConnection] = {}
        self._sent_to_others: dict[int, tuple[RawConnection, int]] = {}
        self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._login = login if login is not None else world.login if world is not None else {}
        if self._login:
            self._log_in(self._login["sasl.username"], self._login["sasl.password"])

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()
        for connection in self._others.values():
            connection.close()

    def another(self, *, client_id: str | None = "conformance") -> RawConnection:
        return RawConnection(
            self.bootstrap_servers,
            client_id=client_id,
            timeout_s=self._timeout_s,
            world=self.world,
            login=self._login,
        )

    def _log_in(self, user: str, password: str) -> None:
        """Log in with SASL PLAIN, in the two requests of KIP-152.

        :raises ConnectionClosed: the broker ended the connection.
        :raises CheckFailed: the broker refused the login.
        """
        for message, version in (
            (SaslHandshakeRequest(mechanism="PLAIN"), 1),
            (SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{password}".encode()), 0),
        ):
            body = message.encode(version)
            self.send_bytes(encode_request_header(message.API_KEY, version, 0, self._client_id, len(body)) + body)
            frame = self.receive_frame()
            _, position = decode_response_header(frame, message.API_KEY, version)
            answer: Any = response_type(message.API_KEY).decode(frame, version, position)
            same(answer.error_code, Error.NONE)

    def offers(self, api_key: int, version: int) -> bool:
        """Whether the broker offers the API's version; always True without a :class:`TestedCluster`."""
        if self.world is None:
            return True
        lowest, highest = self.world.offered.get(api_key, (0, -1))
        return lowest <= version <= highest

    def best(self, api_key: int, wanted: int) -> int:
        """The highest version that the broker offers, at most ``wanted``."""
        if self.world is None or api_key not in self.world.offered:
            return wanted
        return min(wanted, self.world.offered[api_key][1])

    def versions(self, api_key: int, wanted: range) -> Sequence[int]:
        """The wanted versions that the broker offers; raises NotOffered if it offers none."""
        found = [version for version in wanted if self.offers(api_key, version)]
        if not found:
            raise NotOffered(f"no version of {api_name(api_key)} from {wanted[0]} to {wanted[-1]} is offered")
        return found

    def is_since(self, release: str) -> bool:
        """Whether the broker has the APIs of a release of Apache Kafka; always True without a
        :class:`TestedCluster`."""
        return self.world is None or is_since(self.world.offered, release)

    def needs_release(self, release: str) -> None:
        """Check that the broker has the APIs of a release of Apache Kafka.

        :raises NotOffered: it does not have them.
        """
        if not self.is_since(release):
            key, version = shown_by(release)
            raise NotOffered(f"Apache Kafka promises this since {release}, which has {api_name(key)} {version}")

    def needs_feature(self, name: str, level: int) -> None:
        """Check that the finalized level of a feature is at least ``level``.

        :raises NotOffered: the level is lower.
        """
        found = level if self.world is None else self.world.features.get(name, 0)
        if found < level:
            raise NotOffered(f"{name} is {found}, and this needs {level}")

    def send_bytes(self, data: bytes) -> None:
        """Send bytes. Answers to earlier requests may still be read after ConnectionClosed.

        :raises ConnectionClosed: the broker has ended the connection.
        """
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise ConnectionClosed from None

    def send(self, api_key: int, version: int, body: bytes, *, flexible: bool | None = None) -> int:
        """Send a request; returns its correlation id."""
        if not self.offers(api_key, version):
            raise NotOffered(_not_offered(api_key, version))
        self._correlation_id += 1
        name = None if self._client_id is None else self._client_id.encode()
        if flexible is None:
            frame = encode_request_header(api_key, version, self._correlation_id, self._client_id, len(body)) + body
        else:
            head = struct.pack(">hhih", api_key, version, self._correlation_id, -1 if name is None else len(name))
            frame = head + (name or b"") + (b"\0" if flexible else b"") + body
            frame = struct.pack(">i", len(frame)) + frame
        self.send_bytes(frame)
        return self._correlation_id

    def receive_frame(self) -> bytes:
        """The next answer without its size; raises ConnectionClosed if the broker ended the connection."""
        size = struct.unpack(">i", self._exactly(4))[0]
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                chunk = self._socket.recv(size - len(data))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise ConnectionClosed
            data += chunk
        return bytes(data)

    def receive(self, correlation_id: int, *, flexible: bool) -> bytes:
        other = self._sent_to_others.pop(correlation_id, None)
        if other is not None:
            return other[0].receive(other[1], flexible=flexible)
        frame = self.receive_frame()
        same(struct.unpack_from(">i", frame)[0], correlation_id)
        return frame[5:] if flexible else frame[4:]

    def send_message(self, message: Message, version: int) -> int:
        """Send a generated message, to its coordinator if it has one; returns the correlation id of the answer."""
        at = self._coordinator_of(message)
        if at is self:
            return self.send(message.API_KEY, version, message.encode(version))
        self._correlation_id += 1
        self._sent_to_others[self._correlation_id] = (at, at.send_message(message, version))
        return self._correlation_id

    def _coordinator_of(self, message: Message) -> RawConnection:
        world = self.world
        coordinated = None if world is None or world.nodes == 1 else coordinated_by(message)
        if world is None or coordinated is None:
            return self
        if coordinated not in world.coordinators:
            kind, key = coordinated
            request = FindCoordinatorRequest(key=key, key_type=kind)
            answer = self.ask_until(request, 2, lambda found: found.error_code == 0)
            world.coordinators[coordinated] = (answer.node_id, f"{answer.host}:{answer.port}")
        node_id, address = world.coordinators[coordinated]
        if node_id == world.node_id or address == self.bootstrap_servers:
            return self
        if address not in self._others:
            on_this_node = TestedCluster(node_id, 1, world.offered, world.login, world.features)
            self._others[address] = RawConnection(
                address, client_id=self._client_id, timeout_s=self._timeout_s, world=on_this_node
            )
        return self._others[address]

    def ask(self, message: Message, version: int) -> Any:
        """Send a generated message and read its answer."""
        at = self._coordinator_of(message)
        if at is not self:
            return at.ask(message, version)
        correlation_id = self.send(message.API_KEY, version, message.encode(version))
        frame = self.receive_frame()
        got, position = decode_response_header(frame, message.API_KEY, version)
        same(got, correlation_id)
        return response_type(message.API_KEY).decode(frame, version, position)

    def ask_until(self, message: Message, version: int, settled: Callable[[Any], bool]) -> Any:
        """Repeat a request until ``settled`` is true for the answer; returns that answer."""

        def probe() -> Any:
            answer = self.ask(message, version)
            return answer if settled(answer) else None

        return eventually(probe)

    # --- records

    def send_produce(
        self, data: Mapping[tuple[Any, int], bytes | None], *, version: int | None = None, **options: Any
    ) -> int:
        version = self.best(PRODUCE, 11) if version is None else version
        return self.send(PRODUCE, version, produce_body(version, data, **options), flexible=version >= 9)

    def receive_produce(self, correlation_id: int, version: int | None = None) -> dict[tuple[Any, int], Produced]:
        version = self.best(PRODUCE, 11) if version is None else version
        return parse_produce(self.receive(correlation_id, flexible=version >= 9), version)

    def produce_all(
        self, data: Mapping[tuple[Any, int], bytes | None], *, version: int | None = None, **options: Any
    ) -> dict[tuple[Any, int], Produced]:
        return self.receive_produce(self.send_produce(data, version=version, **options), version)

    def produce(
        self,
        topic: str | bytes,
        records: bytes | None,
        partition: int = 0,
        *,
        version: int | None = None,
        **options: Any,
    ) -> Produced:
        return self.produce_all({(topic, partition): records}, version=version, **options)[topic, partition]

    def send_fetch(
        self, positions: Mapping[tuple[Any, int], RawFetchPosition], *, version: int | None = None, **options: Any
    ) -> int:
        version = self.best(FETCH, 12) if version is None else version
        return self.send(FETCH, version, fetch_body(version, positions, **options), flexible=version >= 12)

    def receive_fetch(self, correlation_id: int, version: int | None = None) -> FetchAnswer:
        version = self.best(FETCH, 12) if version is None else version
        return parse_fetch(self.receive(correlation_id, flexible=version >= 12), version)

    def fetch_all(
        self, positions: Mapping[tuple[Any, int], RawFetchPosition], *, version: int | None = None, **options: Any
    ) -> FetchAnswer:
        return self.receive_fetch(self.send_fetch(positions, version=version, **options), version)

    def fetch(
        self,
        topic: str | bytes,
        offset: int = 0,
        partition: int = 0,
        *,
        version: int | None = None,
        partition_max_bytes: int = 16 << 20,
        **options: Any,
    ) -> RawFetched:
        answer = self.fetch_all(
            {(topic, partition): RawFetchPosition(offset, partition_max_bytes)}, version=version, **options
        )
        same(answer.error, Error.NONE)
        if (topic, partition) not in answer.partitions:
            raise CheckFailed(f"the answer to Fetch does not mention partition {partition}")
        return answer.partitions[topic, partition]

    def read_committed(self, topic: str, offset: int = 0, partition: int = 0) -> list[bytes | None]:
        """The values that a read_committed consumer delivers to its program (Kafka's ``CompletedFetch``)."""
        delivered: list[bytes | None] = []
        for item in self.committed_records(topic, offset, partition):
            delivered.append(item.value)
        return delivered

    def committed_records(self, topic: str, offset: int = 0, partition: int = 0) -> list[RawRecord]:
        delivered: list[RawRecord] = []
        while True:
            answer = self.fetch(topic, offset, partition, isolation=READ_COMMITTED)
            same(answer.error, Error.NONE)
            batches = answer.batches
            delivered += answer.committed(offset)
            if not batches:
                return delivered
            offset = batches[-1].last_offset + 1

    # --- topics

    def create_topic(self, name: str, partitions: int = 1, **configs: object) -> bytes:
        """Create a topic, and wait until each of its partitions can be read; returns the topic's id. Settings are
        keywords, such as ``segment_bytes=1048576``."""
        world = self.world
        here = [] if world is None or world.nodes == 1 else [world.node_id]
        if here:
            configs.setdefault("min_insync_replicas", 1)
        topic = CreatableTopic(
            name=name,
            num_partitions=-1 if here else partitions,
            replication_factor=-1 if here else 1,
            assignments=[
                CreatableReplicaAssignment(partition_index=index, broker_ids=here)
                for index in range(partitions if here else 0)
            ],
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=str(value)) for key, value in configs.items()
            ],
        )
        if world is not None and name not in world.topics:
            world.topics.append(name)
        version = self.best(CreateTopicsRequest.API_KEY, 7)
        if not self.offers(CreateTopicsRequest.API_KEY, version):
            return self._ask_for_topic(name, partitions)
        (created,) = self.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), version).topics
        same((created.error_code, created.error_message), (Error.NONE, None))
        for index in range(partitions):
            self._until_it_answers(name, index)
        return self.topic_id(name)

    def topic_id(self, name: str) -> bytes:
        """The topic's id, or zeros if the broker reports none."""
        version = self.best(MetadataRequest.API_KEY, 12)
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=version < 4)
        (topic,) = self.ask(request, version).topics
        found: bytes = topic.topic_id
        return found

    def _ask_for_topic(self, name: str, partitions: int) -> bytes:
        """Create a topic by requesting its metadata, as brokers like librdkafka's mock require; they report no ids."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)
        version = self.best(MetadataRequest.API_KEY, 4)
        self.ask_until(request, version, lambda answer: answer.topics[0].error_code == 0)
        for index in range(partitions):
            self._until_it_answers(name, index)
        return bytes(16)

    def _until_it_answers(self, name: str, partition: int) -> None:
        eventually(lambda: self.list_offset(name, EARLIEST, partition).error_code not in TRANSIENT)
        eventually(lambda: self._is_readable(name, partition))

    def _is_readable(self, name: str, partition: int) -> bool:
        """Whether a fetch from the partition succeeds, or the broker leaves the partition out of the answer, as some
        brokers do without records."""
        found = self.fetch_all({(name, partition): RawFetchPosition(0)}).partitions.get((name, partition))
        return found is None or found.error not in TRANSIENT

    def list_offset(
        self,
        topic: str,
        timestamp: int = LATEST,
        partition: int = 0,
        *,
        isolation: int = READ_UNCOMMITTED,
        version: int | None = None,
        leader_epoch: int = -1,
    ) -> Any:
        version = self.best(ListOffsetsRequest.API_KEY, 9) if version is None else version
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=partition, current_leader_epoch=leader_epoch, timestamp=timestamp
                        )
                    ],
                )
            ],
        )
        if version >= 10:
            request.timeout_ms = 10_000
        return self.ask(request, version).topics[0].partitions[0]
