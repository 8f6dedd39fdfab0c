"""The client's metadata of the cluster (nodes, topics, leaders), and when to request new metadata.

Called by producer, consumer and admin. Metadata never goes back in time: an answer with an older leader epoch for a
partition than the known one is ignored for that partition (KIP-320), unless the topic was recreated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.client_errors import error_of
from oncelog.client.core.connection.wire import METADATA, Answer, RequestFailure, Wire
from oncelog.errors import Error
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.metadata_response import MetadataResponse, MetadataResponseTopic
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.timers import Timer
from oncelog.types import TopicPartition

NO_NODE = -1


class PartitionImage:
    """A partition's leader and replicas."""

    __slots__ = ("isr", "leader", "leader_epoch", "replicas")

    def __init__(self, leader: int, leader_epoch: int, replicas: list[int], isr: list[int]) -> None:
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.replicas = replicas
        self.isr = isr


class TopicImage:
    """A topic with its partitions, numbered from 0 without gaps."""

    __slots__ = ("available", "internal", "keys", "name", "partition_count", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, internal: bool, partitions: list[PartitionImage]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.internal = internal
        self.partitions = partitions
        self.partition_count = len(partitions)
        self.keys = [TopicPartition(name, index) for index in range(len(partitions))]
        self.available = [index for index, partition in enumerate(partitions) if partition.leader >= 0]


class ClusterMetadata:
    """The latest known metadata. ``topics`` is replaced as a whole, so that a reference to it stays consistent."""

    def __init__(
        self,
        wire: Wire,
        *,
        max_age_ms: int,
        retry_backoff_ms: int,
        retry_backoff_max_ms: int,
        allow_auto_creation: bool = True,
    ) -> None:
        self._wire = wire
        self._max_age_ms = max_age_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._retry_backoff_max_ms = retry_backoff_max_ms
        self._allow_auto_creation = allow_auto_creation
        self.nodes: dict[int, tuple[str, int, str | None]] = {}
        self.controller = NO_NODE
        self.cluster_id: str | None = None
        self.topics: dict[str, TopicImage] = {}
        self.names_by_id: dict[bytes, str] = {}
        self.errors: dict[str, Error] = {}
        """The errors of topics in the last answer, by topic."""
        self._wanted: dict[str, None] = {}
        self.want_all = False
        self._in_flight = False
        self._failures = 0
        self._again = False
        self._new = False
        """Whether a topic was requested that no answer has covered yet."""
        self._not_before_ms = 0
        """The time before which no request is sent, because the last request failed or found topics that are still
        being created.
        """
        self.updated_ms: int | None = None
        """When the last answer arrived."""
        self._stale_from_ms = 0
        """The time before which requested updates are not sent, because the metadata was just fetched."""
        self._timer: Timer | None = None
        self._waiters: list[Deferred[RequestFailure | None]] = []
        self._observers: list[Callable[[], None]] = []
        self._closed = False

    # --- reading

    def leader(self, partition: TopicPartition) -> int:
        """The node that leads the partition, or -1."""
        topic = self.topics.get(partition.topic)
        if topic is None or not 0 <= partition.partition < topic.partition_count:
            return NO_NODE
        return topic.partitions[partition.partition].leader

    def leader_epoch(self, partition: TopicPartition) -> int:
        topic = self.topics.get(partition.topic)
        if topic is None or not 0 <= partition.partition < topic.partition_count:
            return -1
        return topic.partitions[partition.partition].leader_epoch

    def topic_id(self, name: str) -> bytes:
        topic = self.topics.get(name)
        return ZERO_UUID if topic is None else topic.topic_id

    # --- asking

    def observe(self, callback: Callable[[], None]) -> None:
        """Call back after every update."""
        self._observers.append(callback)

    def want(self, topics: Iterable[str]) -> bool:
        """Track these topics from now on; returns whether one of them is not known yet."""
        missing = False
        for topic in topics:
            if topic not in self.topics:
                missing = True
                self._new = self._new or topic not in self._wanted
            self._wanted[topic] = None
        return missing

    def set_wanted(self, topics: Iterable[str]) -> None:
        """Track these topics and no others."""
        wanted = dict.fromkeys(topics)
        self._new = self._new or any(topic not in self._wanted and topic not in self.topics for topic in wanted)
        self._wanted = wanted

    def refresh(self) -> Deferred[RequestFailure | None]:
        """Request new metadata; resolves when a request that was sent after this call has been answered."""
        waiter: Deferred[RequestFailure | None] = Deferred()
        if self._closed:
            waiter.resolve(RequestFailure(Error.NETWORK_EXCEPTION, "the client is closed", False))
            return waiter
        self._waiters.append(waiter)
        if self._in_flight:
            self._again = True
        else:
            self._arm(max(self._wire.now_ms(), self._not_before_ms))
        return waiter

    def request_update(self) -> None:
        """Request new metadata, because the known metadata is stale or lacks a topic that is needed now."""
        if not self._in_flight and not self._closed:
            earliest_ms = self._not_before_ms if self._new else max(self._not_before_ms, self._stale_from_ms)
            self._arm(max(self._wire.now_ms(), earliest_ms))

    def leader_changed(self, partition: TopicPartition, leader: int, leader_epoch: int) -> bool:
        """Take over the new leader that a broker named when it refused a request (KIP-951); returns whether the leader
        was new."""
        topic = self.topics.get(partition.topic)
        if topic is None or partition.partition >= topic.partition_count or leader not in self.nodes:
            return False
        known = topic.partitions[partition.partition]
        if leader < 0 or leader_epoch <= known.leader_epoch:
            return False
        known.leader, known.leader_epoch = leader, leader_epoch
        return True

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.resolve(RequestFailure(Error.NETWORK_EXCEPTION, "the client is closed", False))

    def _arm(self, at_ms: int) -> None:
        if self._timer is not None and self._timer.pending and self._timer.at_ms <= at_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._wire.timers.schedule(at_ms, self._ask)

    def _ask(self, now_ms: int) -> None:
        if self._in_flight or self._closed:
            return
        self._in_flight = True
        self._again = self._new = False
        asked = list(self._waiters)
        names = None if self.want_all else [MetadataRequestTopic(name=name) for name in self._wanted]

        def build(version: int) -> MetadataRequest:
            auto = self._allow_auto_creation if version >= 4 else True
            return MetadataRequest(topics=names, allow_auto_topic_creation=auto)

        def answered(answer: Answer, version: int, then_ms: int) -> None:
            self._answered(answer, asked, then_ms)

        self._wire.send(self._wire.any_node(), METADATA, build, answered)

    def _answered(self, answer: Answer, asked: list[Deferred[RequestFailure | None]], now_ms: int) -> None:
        self._in_flight = False
        if self._closed:
            return
        failure = answer if isinstance(answer, RequestFailure) else None
        if failure is None:
            self._failures = 0
            self.updated_ms = now_ms
            self._apply(answer)
        else:
            self._failures += 1
        unfinished = any(error.retriable for error in self.errors.values())
        pause = backoff_ms(max(self._failures, 1), self._retry_backoff_ms, self._retry_backoff_max_ms)
        self._stale_from_ms = now_ms + pause
        self._not_before_ms = now_ms + pause if failure is not None or unfinished else now_ms
        served = set(map(id, asked))
        self._waiters = [waiter for waiter in self._waiters if id(waiter) not in served]
        soon = failure is not None or unfinished or self._again or self._new or bool(self._waiters)
        self._arm(self._not_before_ms if soon else now_ms + self._max_age_ms)
        for waiter in asked:
            waiter.resolve(failure)
        if failure is None:
            for observer in list(self._observers):
                observer()

    def _apply(self, response: MetadataResponse) -> None:
        if response.brokers:
            self.nodes = {node.node_id: (node.host, node.port, node.rack) for node in response.brokers}
            for node in response.brokers:
                self._wire.learn(node.node_id, node.host, node.port)
        self.controller = response.controller_id
        self.cluster_id = response.cluster_id or self.cluster_id
        topics: dict[str, TopicImage] = {}
        self.errors = {}
        for topic in response.topics:
            error = error_of(topic.error_code)
            name = topic.name or ""
            if error is Error.NONE:
                topics[name] = self._image(topic, self.topics.get(name))
            else:
                self.errors[name] = error
                known = self.topics.get(name)
                if known is not None and error.retriable and error is not Error.UNKNOWN_TOPIC_OR_PARTITION:
                    topics[name] = known
        self.topics = topics
        self.names_by_id = {topic.topic_id: name for name, topic in topics.items()}

    def _image(self, answer: MetadataResponseTopic, known: TopicImage | None) -> TopicImage:
        same = known is not None and known.topic_id == answer.topic_id
        partitions: list[PartitionImage] = []
        for partition in sorted(answer.partitions, key=lambda item: item.partition_index):
            image = PartitionImage(
                partition.leader_id, partition.leader_epoch, partition.replica_nodes, partition.isr_nodes
            )
            if same and known is not None and partition.partition_index < known.partition_count:
                old = known.partitions[partition.partition_index]
                if partition.leader_epoch != -1 and partition.leader_epoch < old.leader_epoch:
                    image = old
            partitions.append(image)
        return TopicImage(answer.name or "", answer.topic_id, answer.is_internal, partitions)
