"""The broker's core: handles requests, returns answers, and does I/O only through ports.

Called by the server, on one thread. It owns topics, coordinators, parked fetches and timers. Its state depends only on
the order of calls; time is an argument. Source: Kafka's ``KafkaApis`` and ``ReplicaManager``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from oncelog.broker.core.administration.listeners import RunningListeners
from oncelog.broker.core.administration.nodes import BrokerNodes
from oncelog.broker.core.administration.topics import Topics
from oncelog.broker.core.appending.validation_thread import ValidationThread
from oncelog.broker.core.cluster.node import SimulatedNode
from oncelog.broker.core.coordination.coordinators import Coordinators
from oncelog.broker.core.fetching.purgatory import FetchPurgatory
from oncelog.broker.core.limits.answer_memory import AnswerMemory
from oncelog.broker.core.limits.long_requests import LONG_BYTES, LongRequests
from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.core.registry import READ_ONLY, handler_for, import_handlers, served_apis
from oncelog.broker.core.request_life import Answer, RequestLife
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.interception import Interceptor, MarkerInterceptor
from oncelog.broker.core.requests.session import Channel
from oncelog.broker.core.requests.tasks import Tasks
from oncelog.broker.core.security.authorizer import authorizer_of
from oncelog.broker.core.security.request_rules import refused_request
from oncelog.broker.core.security.security_log import SecurityLog
from oncelog.broker.core.storage.flushing import Flushing
from oncelog.broker.core.storage.log_manager import LogManager
from oncelog.broker.core.storage.metadata_sync import MetadataSync
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.core.storage.recovery_progress import RecoveryProgress
from oncelog.broker.metadata.store import MetadataStore
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import MalformedMessage
from oncelog.protocol.framing import request_header_fields
from oncelog.protocol.messages import read_type
from oncelog.protocol.struct_fields import Buffer
from oncelog.protocol.wire import Message
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.ports import Background, Disk, Random
from oncelog.runtime.timers import Timers
from oncelog.settings.config import BrokerConfig
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator
    from oncelog.broker.coordinator.share.share_coordinator import ShareCoordinator
    from oncelog.broker.coordinator.transaction.host import TxnMarker
    from oncelog.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator
    from oncelog.broker.core.appending.pipeline import AppendPipeline
    from oncelog.broker.core.appending.produce_runs import ProduceRuns
    from oncelog.broker.core.coordination.repeated_commits import RepeatedCommits
    from oncelog.broker.core.fetching.fetch_sessions import FetchSessionCache
    from oncelog.broker.core.limits.throttle import Throttle
    from oncelog.broker.core.requests.request_metrics import RequestMetrics
    from oncelog.broker.core.sharing.share_partitions import SharePartitions
    from oncelog.protocol.acls import Acl
    from oncelog.protocol.generated.api_versions_response import ApiVersion

logger = logging.getLogger(__name__)

PRODUCE, OFFSET_COMMIT = map(int, (ApiKey.PRODUCE, ApiKey.OFFSET_COMMIT))
"""API keys as plain numbers, because every request uses them: looking up an enum member takes as long as several
calls."""


class Broker:
    """The core of one broker. ``start`` opens the data folder; then ``receive`` and ``advance`` are called until
    ``stop``."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        node: SimulatedNode,
        metadata: MetadataStore,
        disk: Disk,
        random: Random,
        background: Background,
        work_clock: Callable[[], int] = lambda: 0,
        requests: RequestMetrics | None = None,
        nodes: Sequence[int] = (),
    ) -> None:
        """:param work_clock: CPU time of this thread in nanoseconds, for quotas of request time.

        :param requests: records each request, if metrics are enabled.
        :param nodes: ids of several nodes, beginning with this broker's own; empty if the broker is a single node.
        """
        self.request_metrics = requests
        self.recovery = RecoveryProgress()
        self.config = config
        self.node = node
        self.metadata = metadata
        self.random = random
        self.timers = Timers()
        self.tasks = Tasks(work_clock, READ_ONLY)
        self.fetches = FetchPurgatory(self.timers, self.tasks)
        self.request_memory = RequestMemory(config.queued_max_request_bytes, config.socket_request_max_bytes)
        self.long_requests = LongRequests(self.request_memory)
        self.validation_thread = ValidationThread(self.request_memory, work_clock)
        self.answer_memory = AnswerMemory(self.request_memory)
        self.logs = LogManager(disk, config, self.timers, background, random, self.tasks)
        self.pattern_caches: dict[int, ProduceRuns | RepeatedCommits] = {}
        """The caches of request patterns that have learned at least one request, by API key; other classes only read
        this."""
        self._coordinators = Coordinators(self)
        self.flushing = Flushing(self)
        self.metadata_sync = MetadataSync(self)
        self.interceptor: Interceptor | None = None
        self.listeners: RunningListeners | None = None
        """Set by the server if listeners may change while the broker runs."""
        self.nodes = BrokerNodes(self, nodes, self._coordinators)
        self.cluster = self.nodes.cluster
        self.topics = Topics(self, self._coordinators)
        self._partitions = self.topics.partitions
        self._recovered = False
        self.served = served_apis(config.transaction_two_phase_commit_enable)
        """The supported APIs, with their versions."""
        self.security_log = SecurityLog(self.timers)
        self.authorizer = authorizer_of(config, metadata)
        self.throttle: Throttle | None = None
        self.now_ms = 0
        """The latest time in ms passed to the broker; a request that has waited uses this time, because the clock may
        have been set meanwhile."""
        self._request_life = RequestLife(self, self._call_api)
        self.quotas_changed()

    def intercept(self, interceptor: Interceptor, markers: MarkerInterceptor) -> None:
        """Inject faults into requests and markers, for as long as the broker runs."""
        self.interceptor = interceptor
        self._coordinators.marker_interceptor = markers
        self.forget_patterns()

    @cached_property
    def advertised(self) -> list[ApiVersion]:
        """The APIs and versions in every answer to ApiVersions."""
        from oncelog.broker.core.apis.cluster.api_versions import advertised

        return advertised(self.served)

    @cached_property
    def fetch_sessions(self) -> FetchSessionCache:
        from oncelog.broker.core.fetching.fetch_sessions import FetchSessionCache

        return FetchSessionCache(self.config.max_incremental_fetch_session_cache_slots, self.random)

    @cached_property
    def sharing(self) -> SharePartitions:
        """The share partitions, created when first needed by a share group."""
        from oncelog.broker.core.sharing.share_partitions import SharePartitions

        return SharePartitions(self)

    @property
    def sharing_in_use(self) -> SharePartitions | None:
        return self.__dict__.get("sharing")

    @property
    def share_states(self) -> ShareCoordinator:
        return self._coordinators.share_states

    @property
    def transactions(self) -> TransactionCoordinator:
        return self._coordinators.transactions

    @property
    def groups(self) -> GroupCoordinator:
        return self._coordinators.groups

    def coordinators_in_use(self) -> tuple[TransactionCoordinator | None, GroupCoordinator | None]:
        """The coordinators of transactions and groups, each None if it has not been needed yet; for callers that only
        inspect them."""
        return self._coordinators.made()

    # --- life

    def recover(self, now_ms: int) -> None:
        """Open every log, recover logs that were not closed cleanly, and load the coordinators' state. This may take
        long."""
        self._recovered = True
        self.logs.start(self.metadata)
        topics = self.metadata.topics()
        self.recovery.partitions = sum(info.partitions for info in topics)
        for info in topics:
            self.topics.open(info, range(info.partitions), now_ms)
        self._sync_what_waits(now_ms)
        self.metadata.producer_ids.reserve(self.logs.producer_ids_end(self.metadata.producer_ids.end))
        begun_ns = self.request_metrics.clock() if self.request_metrics is not None else 0
        self._coordinators.recover()
        if self.request_metrics is not None:
            self.recovery.coordinators_ns = self.request_metrics.clock() - begun_ns

    def _sync_what_waits(self, now_ms: int) -> None:
        """At a start, sync data that a killed process left unsynced, before a client reads them; at a stop, sync data
        that answers wait for."""
        while self.flushing.wanted and (job := self.flushing.take(now_ms)) is not None:
            self.flushing.done(job, job.sync_all_at_once(), now_ms)

    def import_all(self) -> None:
        """Import all modules that would otherwise be imported at first use, when no file descriptor may be free any
        more."""
        import_handlers(self.served)
        for api_key in (PRODUCE, OFFSET_COMMIT):
            self._pattern_cache(api_key)
        self.appends  # noqa: B018 - made, and so imported
        import_module("oncelog.broker.log.compaction")
        self.transactions.runtime  # noqa: B018
        self.groups.runtime  # noqa: B018

    def start(self, now_ms: int) -> None:
        """Begin to serve clients: sessions and timeouts start now, no matter how long :meth:`recover` took."""
        if not self._recovered:
            self.recover(now_ms)
        self.logs.started(now_ms)
        self._coordinators.start(now_ms)
        self.recovery.done = True
        self.flushing.start(now_ms)

    def stop(self, now_ms: int) -> None:
        """Commit the appended records, answer all waiting requests, close everything, and write the clean-shutdown
        marker. Every batch is answered, so that no producer has to retry it: after a restart only the last batch of
        each producer would be recognized as a duplicate."""
        self.now_ms = now_ms
        self.security_log.write_counts()
        try:
            self.answer_memory.stop()
            self.metadata_sync.end()
            self.tasks.finish()
            self._sync_what_waits(now_ms)
            self.fetches.expire_all()
            self.tasks.finish()
            if self.sharing_in_use is not None:
                self.sharing.stop()
            self._coordinators.stop()
            for partition in self._partitions.values():
                partition.close_waiters(Error.NOT_LEADER_OR_FOLLOWER)
            self.logs.stop()
        finally:  # closed even if a full disk made the stop fail: otherwise this process could not reopen the folder
            self.metadata.close()

    def abandon(self) -> None:
        """End as after a crash: close the files without writing or syncing anything more."""
        for partition in self._partitions.values():
            partition.log.close(clean=False)
        self.metadata.close()

    def advance(self, now_ms: int, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Fire timers that are due, until ``is_enough`` ends the iteration."""
        self.now_ms = now_ms
        self.timers.fire(now_ms, is_enough)

    def skip_idle(self, now_ms: int, until_ms: int) -> None:
        """Skip periodic work that would do nothing: see :meth:`Timers.skip_idle`."""
        self.timers.skip_idle(now_ms, until_ms)

    def clock_was_set(self, step_ms: int) -> None:
        """The wall clock was set forward by ``step_ms`` (negative: back): shift deadlines, so that durations stay the
        same."""
        self.now_ms += step_ms
        self.timers.shift(step_ms)
        for part in (self.__dict__.get("fetch_sessions"), self._coordinators, self.throttle):
            if part is not None:
                part.clock_was_set(step_ms)

    def next_wakeup_ms(self) -> int | None:
        """The time in ms at which ``advance`` must be called next; None if no timer is set."""
        return self.timers.next_ms()

    # --- requests

    def receive(self, channel: Channel, slot: int, frame: Buffer, now_ms: int) -> None:
        """Handle one request frame (without its size); the answer goes to ``channel.reply`` now or later.

        A request that cannot be decoded closes its own connection and no other; only ApiVersions answers unknown
        versions. Bytes after a decoded request are ignored, as in Apache Kafka: librdkafka 2.16 sends three extra bytes
        when it asks for all topics.
        """
        self.now_ms = now_ms
        if self.interceptor is None or not self.interceptor.takes(channel, slot, frame, now_ms):
            self.handle(channel, slot, frame, now_ms)

    def handle(self, channel: Channel, slot: int, frame: Buffer, now_ms: int) -> None:
        """Like :meth:`receive`, without asking the interceptor."""
        authenticator = channel.session.authenticator
        try:
            if authenticator is not None and authenticator.takes(channel, slot, frame, now_ms):
                return
        except Exception as error:
            logger.error("a login from %s failed", channel.client_host, exc_info=error)
            channel.close(f"the login could not be answered: {error!r:.200}")
            return
        try:
            api_key, version, correlation_id, client_id, _, body = request_header_fields(frame)
            served = self.served.get(api_key)
            if served is None or not served.low <= version <= served.high:
                from oncelog.broker.core.apis.cluster.api_versions import refuse_version

                refuse_version(channel, slot, api_key, version, correlation_id)
                return
            size_bytes = len(frame)
            if size_bytes > served.max_bytes:
                name, most = ApiKey(api_key).name, served.max_bytes
                reason = f"a {name} request of {size_bytes} bytes; at most {most} are accepted: request less at once"
                self.security_log.refuse_request(channel, reason, now_ms)
                return
            context = RequestContext(channel, slot, api_key, version, correlation_id, client_id or "", now_ms)
            begun_ns = self.request_metrics.clock() if self.request_metrics is not None else 0
            request: Message | None = None
            if api_key == PRODUCE:
                request = self._parse_produce(memoryview(frame), body, version)
            if request is None:
                if size_bytes > LONG_BYTES:
                    self._request_life.begin_long(context, frame, body, begun_ns)
                    return
                request, _ = read_type(api_key).decode_prefix(frame, version, body)
        except MalformedMessage as error:
            self.security_log.refuse_request(channel, f"a request could not be read: {error}", now_ms)
            return
        self._request_life.begin(context, request, size_bytes, begun_ns)
        if not context.may_be_repeated or self.throttle is not None:
            return
        if self.cluster is not None or self.interceptor is not None:
            return  # with several nodes or with faults every request must be decoded
        self._pattern_cache(api_key).learn(context, request, frame, body)  # type: ignore[arg-type]

    @cached_property
    def _parse_produce(self) -> Callable[[memoryview, int, int], Message | None]:
        from oncelog.protocol.produce_fast import parse_one_partition

        return parse_one_partition

    @cached_property
    def appends(self) -> AppendPipeline:
        """The append pipeline, created for the first batch."""
        from oncelog.broker.core.appending.pipeline import AppendPipeline

        return AppendPipeline(self, self.validation_thread)

    def _pattern_cache(self, api_key: int) -> ProduceRuns | RepeatedCommits:
        cache = self.pattern_caches.get(api_key)
        if cache is None:
            cache = self.pattern_caches[api_key] = self._new_pattern_cache(api_key)
        return cache

    def _new_pattern_cache(self, api_key: int) -> ProduceRuns | RepeatedCommits:
        if api_key == PRODUCE:
            from oncelog.broker.core.appending.produce_runs import ProduceRuns

            return ProduceRuns(self)
        from oncelog.broker.core.coordination.repeated_commits import RepeatedCommits

        return RepeatedCommits(self)

    def _call_api(self, context: RequestContext, request: Message) -> Answer | Deferred[Answer]:
        """Check the caller's permissions, and call the API's handler."""
        if self.authorizer is not None and (rights := self.served[context.api_key].rights):
            refused = refused_request(self, context, request, rights)
            if refused is not None:
                return refused
        answer: Answer | Deferred[Answer] = handler_for(context.api_key)(self, context, request)
        return answer

    def receive_run(self, channel: Channel, slot: int, buffer: bytearray, start: int, end: int, now_ms: int) -> int:
        """Handle as many requests in ``buffer[start:end]`` as one run can have, each preceded by its size.

        Returns the end of the last request handled, or ``start`` if none was: then the caller passes the first request
        to :meth:`receive`. All answers go together to ``slot``. When the method returns, the buffer may be reused.
        """
        self.now_ms, authenticator = now_ms, channel.session.authenticator
        cache = self.pattern_caches.get(buffer[start + 5])
        if cache is None or (authenticator is not None and not authenticator.allows_requests(now_ms)):
            return start
        try:
            return cache.receive(channel, slot, buffer, start, end, now_ms)
        except Exception as error:
            name = ApiKey(buffer[start + 5]).name
            logger.error("%s of %s failed", name, channel.client_host, exc_info=error)
            channel.close(f"{name} could not be answered: {error!r:.200}")
            return end

    def forget_patterns(self, channel: Channel | None = None) -> None:
        """Drop the request patterns of a connection (None: of all), because permissions or topics have changed."""
        for cache in self.pattern_caches.values():
            cache.forget(channel)

    def disconnected(self, channel: Channel) -> None:
        """Called when a connection ended: drop the work that only this connection waits for. Its group members stay
        until their sessions end."""
        self.fetches.drop(channel)
        if self.sharing_in_use is not None:
            self.sharing.disconnected(channel, self.now_ms)
        self.forget_patterns(channel)
        self.long_requests.disconnected(channel)
        self.tasks.drop(channel)
        self.answer_memory.end(channel)

    def quotas_changed(self) -> None:
        """Apply the client quotas in the metadata store."""
        quotas = self.metadata.client_quotas()
        if self.throttle is None and not quotas:
            return
        from oncelog.broker.core.limits.throttle import Throttle

        throttle = self.throttle if self.throttle is not None else Throttle.by(self.config)
        throttle.update(quotas)
        self.throttle = throttle if throttle.is_needed else None
        if self.throttle is not None:
            self.forget_patterns()

    # --- partitions, settings, transactions

    def partition(self, topic_partition: TopicPartition) -> Partition | None:
        return self._partitions.get(topic_partition)

    def led_partition(self, context: RequestContext, topic_partition: TopicPartition) -> Partition | Error:
        """The partition if the node that received the request leads it, else UNKNOWN_TOPIC_OR_PARTITION or
        NOT_LEADER_OR_FOLLOWER."""
        partition = self._partitions.get(topic_partition)
        if partition is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        if not partition.led_by(context.session.node_id):
            return Error.NOT_LEADER_OR_FOLLOWER
        return partition

    def partitions(self) -> Mapping[TopicPartition, Partition]:
        return self._partitions

    def change_acls(self, added: Collection[Acl] = (), removed: Collection[Acl] = ()) -> None:
        """Add and remove ACLs; the change is durable, and in force at once."""
        self.metadata.change_acls(added, removed)
        if self.authorizer is not None:
            self.authorizer.change(added, removed)
            self._coordinators.metadata_changed()
        self.forget_patterns()

    def reconfigure(self, config: BrokerConfig) -> None:
        """Apply settings that were changed while the broker runs (AlterConfigs of the broker)."""
        self.config = config
        self.nodes.settings_changed()
        self.logs.reconfigure(config, self.nodes.config_of_leader)
        self.timers.intervals_changed()
        if self.listeners is not None:
            self.listeners.follow()
        self.forget_patterns()

    def write_markers(self, marker: TxnMarker, now_ms: int) -> Deferred[dict[TopicPartition, Error]]:
        """Append the marker of a transaction to each of its partitions here; resolves with each partition's outcome
        once the markers are committed."""
        return self._coordinators.write_markers(marker, now_ms)
