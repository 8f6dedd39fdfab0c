"""The one place that sends requests to a cluster: finds leaders and coordinators, retries, and enforces deadlines.

Called by Admin, producer, consumer, log reader and Spark. The caller names the request and the leader or coordinator;
this module finds the node (again, if it has moved), retries with Kafka's backoff, and ends the call within
``timeout_ms`` whatever the brokers do. Functions given to ``repeat`` and the ``at_`` methods may run several times. An
attempt cut short by the deadline is cancelled, and its request is not sent if it has not gone out yet.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from oncelog.client.aio.connection.network import Network
from oncelog.client.aio.connection.wait_reports import waiting
from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.client_errors import (
    IllegalStateError,
    KafkaTimeoutError,
    UnknownTopicOrPartitionError,
    error_for,
    error_of,
    topic_error,
)
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.connection.coordinator_lookup import CoordinatorFinder, CoordinatorType
from oncelog.client.core.connection.metadata import NO_NODE, ClusterMetadata, TopicImage
from oncelog.client.core.connection.wire import NO_LIMIT, Api, Build
from oncelog.client.core.waiting import retried
from oncelog.errors import Error, KafkaError
from oncelog.protocol.wire import Message
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition, partitions_there

T = TypeVar("T")

COORDINATOR_MOVED = frozenset(
    {
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.NETWORK_EXCEPTION,
        Error.REQUEST_TIMED_OUT,
    }
)
_LEADER_UNSURE = frozenset({Error.NETWORK_EXCEPTION, Error.REQUEST_TIMED_OUT})
GIVE_UP_ON_UNKNOWN_SECONDS = 5.0
"""A topic that is still unknown after this time does not exist: creating a topic takes well under a second."""


class ClusterAccess:
    """Connections to a cluster, its metadata, and calls with a deadline.

    :param timeout_ms: how long a call may take including all its repeats.
    :param setting: the setting that ``timeout_ms`` comes from, for messages.
    :param allow_auto_creation: whether asking about a topic may create it.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        timeout_ms: int,
        setting: str = "default.api.timeout.ms",
        ssl_context: ssl.SSLContext | None = None,
        allow_auto_creation: bool = False,
    ) -> None:
        self.config = config
        self.timeout_ms = timeout_ms
        self._setting = setting
        self.network = Network(config, ssl_context)
        self.metadata = ClusterMetadata(
            self.network,
            max_age_ms=config.metadata_max_age_ms,
            retry_backoff_ms=config.retry_backoff_ms,
            retry_backoff_max_ms=config.retry_backoff_max_ms,
            allow_auto_creation=allow_auto_creation,
        )
        self.network.observe_losses(self.metadata.request_update)
        self._finders: dict[tuple[CoordinatorType, str], CoordinatorFinder] = {}
        self._leaders_unsure = False
        self._open = False
        self._closed = False

    # --- life

    async def start(self) -> None:
        """Connect and fetch the first metadata. May be called again after a failure.

        :raises KafkaConnectionError: no broker can be reached.
        """
        await self.connect()
        with waiting(self.config.bootstrap_servers, "the first metadata", self.config.request_timeout_ms / 1000):
            await self.refresh()

    async def connect(self) -> None:
        """Connect without sending any request."""
        await self.network.start()
        self._open = True

    async def close(self) -> None:
        """Close the connections; calls still waiting fail. May be called twice."""
        self._open = False
        self._closed = True
        self.metadata.close()
        await self.network.close()

    # --- repeating

    async def repeat(
        self, what: str, attempt: Callable[[], Awaitable[T]], *, timeout_ms: float | None = None, setting: str = ""
    ) -> T:
        """Return the attempt's result, repeating it while its error is retriable and there is time.

        :param what: names the call in the error raised on timeout.
        :param setting: the setting that ``timeout_ms`` comes from, if it comes from one.
        :raises KafkaTimeoutError: the time is up; its cause is the last error.
        """
        limit_ms = self.timeout_ms if timeout_ms is None else timeout_ms
        name = self._setting if timeout_ms is None else setting
        with waiting(self.config.bootstrap_servers, what, limit_ms / 1000):
            return await self._repeat(what, attempt, limit_ms, name)

    async def _repeat(self, what: str, attempt: Callable[[], Awaitable[T]], limit_ms: float, name: str) -> T:
        last: KafkaError | None = None
        failures = 0
        try:
            async with asyncio.timeout(limit_ms / 1000):
                while True:
                    try:
                        return await attempt()
                    except KafkaError as error:
                        if not error.retriable or self._closed:
                            raise
                        last = error
                    retried(last.error, str(last))
                    failures += 1
                    if last.error.refresh_metadata or last.error in _LEADER_UNSURE:
                        self._leaders_unsure = True
                    await asyncio.sleep(
                        backoff_ms(failures, self.config.retry_backoff_ms, self.config.retry_backoff_max_ms) / 1000
                    )
        except TimeoutError:
            why = f": {last}" if last is not None else ""
            limit = f"{name}={limit_ms:.15g}" if name else f"{limit_ms:.15g} ms"
            raise KafkaTimeoutError(f"{what} did not succeed within {limit}{why}") from last

    # --- asking

    async def ask(
        self, node: int, api: Api, message: Message | Build, *, highest: int = NO_LIMIT, channel: int = 0
    ) -> Any:
        """The answer of one node.

        :raises KafkaError: there was no answer.
        """
        answer, _ = await self.network.call(node, api, message, highest=highest, channel=channel)
        return answer

    async def ask_any(self, api: Api, message: Message | Build) -> Any:
        """The answer of the least busy node."""
        return await self.ask(self.network.any_node(), api, message)

    async def ask_all(self, api: Api, message: Message | Build) -> list[tuple[int, Any]]:
        """Every node's answer, by node."""
        nodes = sorted(self.metadata.nodes)
        answers = await asyncio.gather(*(self.ask(node, api, message) for node in nodes))
        return list(zip(nodes, answers, strict=True))

    async def refresh(self) -> None:
        """Fetch new metadata.

        :raises KafkaError: no broker answered.
        """
        failure = await settled(self.metadata.refresh())
        if failure is not None:
            raise error_for(failure.error, failure.text)
        self._leaders_unsure = False

    def check_open(self, name: str) -> None:
        if not self._open:
            raise IllegalStateError(f"the {name} is not connected; call start() first")

    # --- topics and leaders

    async def readable_topics(self) -> set[str]:
        """Names of all topics that this client may see, except internal ones."""
        wanted_all, self.metadata.want_all = self.metadata.want_all, True
        try:
            await self.repeat("topics()", self.refresh)
        finally:
            self.metadata.want_all = wanted_all
        return {name for name, topic in self.metadata.topics.items() if not topic.internal}

    async def topic(self, name: str) -> TopicImage:
        """The topic, as soon as the cluster knows it; if auto creation is allowed, asking about it creates it.

        :raises UnknownTopicOrPartitionError: it does not exist and was not created.
        """
        with waiting(self.config.bootstrap_servers, f"topic {name!r}", self.timeout_ms / 1000):
            return await self._topic(name)

    async def _topic(self, name: str) -> TopicImage:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        self.metadata.want((name,))
        asked = False
        try:
            async with asyncio.timeout(self.timeout_ms / 1000):
                while (image := self.metadata.topics.get(name)) is None or not image.partition_count:
                    # an error from before this call may be out of date
                    error = self.metadata.errors.get(name) if asked else None
                    if error is not None and not error.retriable:
                        raise topic_error(error, name)
                    unknown = error is Error.UNKNOWN_TOPIC_OR_PARTITION
                    if unknown and loop.time() - begin > GIVE_UP_ON_UNKNOWN_SECONDS:
                        raise UnknownTopicOrPartitionError(
                            Error.UNKNOWN_TOPIC_OR_PARTITION,
                            f"topic {name!r} does not exist and the broker does not create it; create it first",
                        )
                    if error is not None:
                        retried(error, f"topic {name!r} does not exist yet")
                    failure = await settled(self.metadata.refresh())
                    if failure is not None:
                        retried(failure.error, failure.text)
                    asked = asked or failure is None
                    if failure is not None and self._closed:
                        raise error_for(failure.error, failure.text)
        except TimeoutError:
            raise KafkaTimeoutError(
                f"nothing is known about topic {name!r} after {self._setting}={self.timeout_ms}"
            ) from None
        return image

    async def leaders(
        self, partitions: Iterable[TopicPartition], *, may_come: bool = False
    ) -> dict[int, list[TopicPartition]]:
        """Group partitions by the node that leads them.

        :param may_come: a partition that does not exist yet is a retriable error.
        :raises KafkaError: a partition does not exist, or has no leader now.
        """
        wanted = list(partitions)
        missing = self.metadata.want(dict.fromkeys(name.topic for name in wanted))
        if missing or self._leaders_unsure or any(self.metadata.leader(name) == NO_NODE for name in wanted):
            await self.refresh()
        by_leader: dict[int, list[TopicPartition]] = {}
        for name in wanted:
            leader = self.metadata.leader(name)
            if leader == NO_NODE:
                raise self._without_leader(name, may_come)
            by_leader.setdefault(leader, []).append(name)
        return by_leader

    def _without_leader(self, name: TopicPartition, may_come: bool) -> KafkaError:
        image = self.metadata.topics.get(name.topic)
        error = self.metadata.errors.get(name.topic, Error.UNKNOWN_TOPIC_OR_PARTITION)
        if image is not None and 0 <= name.partition < image.partition_count:
            return error_for(Error.LEADER_NOT_AVAILABLE, f"{name} has no leader")
        if image is not None:
            there = partitions_there(image.partition_count)
            text = f"topic {name.topic!r} has no partition {name.partition}; {there}"
        elif error is Error.UNKNOWN_TOPIC_OR_PARTITION:
            text = f"topic {name.topic!r} does not exist"
        else:
            return topic_error(error, name.topic)
        return error_for(Error.UNKNOWN_TOPIC_OR_PARTITION, text) if may_come else UnknownPartition(text)

    async def at_leader(
        self,
        what: str,
        partition: TopicPartition,
        ask: Callable[[int], Awaitable[T]],
        *,
        timeout_ms: float | None = None,
    ) -> T:
        """Ask a partition's leader and return the result; the leader is looked up again if it has moved."""

        async def attempt() -> T:
            return await ask(next(iter(await self.leaders([partition]))))

        return await self.repeat(what, attempt, timeout_ms=timeout_ms)

    async def at_leaders(
        self,
        what: str,
        partitions: Iterable[TopicPartition],
        ask: Callable[[int, list[TopicPartition]], Awaitable[Mapping[TopicPartition, T | KafkaError]]],
        *,
        timeout_ms: float | None = None,
        setting: str = "",
        wait_for_unknown_s: float = 0.0,
    ) -> dict[TopicPartition, T]:
        """A result for each partition, from all leaders at once; retriable refusals are retried.

        :param wait_for_unknown_s: how long to wait for partitions that do not exist to be created.
        :raises KafkaError: a partition was refused for good, does not exist, or gave no answer in time.
        """
        loop = asyncio.get_running_loop()
        wait_until = loop.time() + wait_for_unknown_s
        left = dict.fromkeys(partitions)
        found: dict[TopicPartition, T] = {}

        async def attempt() -> None:
            by_leader = await self.leaders(left, may_come=loop.time() < wait_until)
            answers = await asyncio.gather(*(_each(ask, node, names) for node, names in by_leader.items()))
            refused: list[KafkaError] = []
            for answer in answers:
                for name, result in answer.items():
                    if isinstance(result, KafkaError):
                        refused.append(result)
                    else:
                        found[name] = result
                        left.pop(name, None)
            if refused:
                raise min(refused, key=lambda error: error.retriable)
            if left:
                raise error_for(Error.UNKNOWN_SERVER_ERROR, f"the answer does not contain {min(left)}")

        if left:
            await self.repeat(what, attempt, timeout_ms=timeout_ms, setting=setting)
        return found

    # --- coordinators

    def finder(self, kind: CoordinatorType, key: str) -> CoordinatorFinder:
        """The finder for a group's or a transactional id's coordinator; the same object for the same key."""
        finder = self._finders.get((kind, key))
        if finder is None:
            finder = self._finders[kind, key] = CoordinatorFinder(
                self.network,
                key,
                kind,
                retry_backoff_ms=self.config.retry_backoff_ms,
                retry_backoff_max_ms=self.config.retry_backoff_max_ms,
                on_found=lambda now_ms: None,
                on_error=lambda error, now_ms: None,
            )
        return finder

    async def coordinator(self, finder: CoordinatorFinder) -> int:
        """The coordinating node; waits until one is found, so call it inside ``repeat``."""
        while finder.node is None:
            refused = await settled(finder.found())
            if refused is not None:
                raise refused
        return finder.node

    async def at_coordinator(
        self,
        what: str,
        finder: CoordinatorFinder,
        ask: Callable[[int], Awaitable[T]],
        *,
        timeout_ms: float | None = None,
    ) -> T:
        """Ask the coordinator and return the result; the coordinator is looked up again if it has moved."""

        async def attempt() -> T:
            node = await self.coordinator(finder)
            try:
                return await ask(node)
            except KafkaError as error:
                if error.error in COORDINATOR_MOVED:
                    finder.forget()
                raise

        return await self.repeat(what, attempt, timeout_ms=timeout_ms)


class UnknownPartition(UnknownTopicOrPartitionError):
    """The caller named a partition that does not exist. Unlike an UNKNOWN_TOPIC_OR_PARTITION from a broker, this error
    is not retriable."""

    retriable = False


async def settled(deferred: Deferred[T], seconds: float | None = None) -> T:
    """The value of a deferred.

    :raises TimeoutError: it took longer than ``seconds``.
    """
    if deferred.done:
        return deferred.value
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def resolved(value: T) -> None:
        if not future.done():
            future.set_result(value)

    deferred.then(resolved)
    async with asyncio.timeout(seconds):
        return await future


def check(code: int, text: str, reason: str | None = None) -> None:
    """Raise for an error code; ``reason`` is the broker's message."""
    error = error_of(code)
    if error is not Error.NONE:
        raise error_for(error, f"{text}: {reason}" if reason else text)


async def _each(
    ask: Callable[[int, list[TopicPartition]], Awaitable[Mapping[TopicPartition, T | KafkaError]]],
    node: int,
    names: list[TopicPartition],
) -> Mapping[TopicPartition, T | KafkaError]:
    """One leader's results by partition; if the whole request failed, each partition has the request's error."""
    try:
        return await ask(node, names)
    except KafkaError as error:
        return dict.fromkeys(names, error)


__all__ = ["COORDINATOR_MOVED", "ClusterAccess", "UnknownPartition", "check", "settled"]
