"""What every part of the admin client needs: nodes, leaders, coordinators, and repeating what may be repeated.

Called by the parts of the admin client.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Self, TypeVar

from oncelog.client.aio.network import Network
from oncelog.client.aio.offsets import Deadline, GroupOffsets, settled
from oncelog.client.aio.settings import split_settings
from oncelog.client.core.config import AdminConfig
from oncelog.client.core.coordinator import CoordinatorFinder, CoordinatorType
from oncelog.client.core.errors import (
    IllegalStateError,
    KafkaTimeoutError,
    UnknownTopicOrPartitionError,
    error_for,
    error_of,
)
from oncelog.client.core.metadata import NO_NODE, ClusterMetadata
from oncelog.client.core.structs import TopicPartition
from oncelog.client.core.wire import Api, Build
from oncelog.errors import Error, KafkaError
from oncelog.protocol.wire import Message

T = TypeVar("T")


class AdminConnection:
    """A connected admin client without its methods."""

    def __init__(
        self, *, config: AdminConfig | None = None, ssl_context: ssl.SSLContext | None = None, **settings: Any
    ) -> None:
        self.config = AdminConfig.from_keywords(**split_settings(settings)) if config is None else config
        self._network = Network(self.config, ssl_context)
        self._metadata = ClusterMetadata(
            self._network,
            max_age_ms=self.config.metadata_max_age_ms,
            retry_backoff_ms=self.config.retry_backoff_ms,
            retry_backoff_max_ms=self.config.retry_backoff_max_ms,
            allow_auto_creation=False,
        )
        self._finders: dict[tuple[CoordinatorType, str], CoordinatorFinder] = {}
        self._started = False
        self._closed = False

    async def start(self) -> None:
        """Connect.

        :raises KafkaConnectionError: no broker can be reached.
        """
        if self._started:
            raise IllegalStateError("the admin client was started already")
        self._started = True
        try:
            await self._network.start()
            await self._refresh()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connections. May be called twice."""
        if not self._closed:
            self._closed = True
            self._metadata.close()
            await self._network.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- for the parts

    async def _refresh(self) -> None:
        failure = await settled(self._metadata.refresh())
        if failure is not None:
            raise error_for(failure.error, failure.text)

    async def _repeat(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        """The attempt's result, repeated while its error is retriable and there is time."""
        if not self._started or self._closed:
            raise IllegalStateError("the admin client is not connected; call start() first")
        deadline = Deadline(self.config.default_api_timeout_ms, what)
        while True:
            try:
                return await attempt()
            except KafkaTimeoutError:
                raise
            except KafkaError as error:
                if not error.retriable:
                    raise
                if error.error.refresh_metadata:
                    self._metadata.request_update()
                await deadline.pause(self.config.retry_backoff_ms, error)

    async def _ask(self, node: int, api: Api, message: Message | Build) -> Any:
        answer, _ = await self._network.call(node, api, message)
        return answer

    async def _ask_any(self, api: Api, message: Message | Build) -> Any:
        return await self._ask(self._network.any_node(), api, message)

    async def _ask_all(self, api: Api, message: Message | Build) -> list[tuple[int, Any]]:
        """Every broker's answer, by node."""
        nodes = sorted(self._metadata.nodes)
        answers = await asyncio.gather(*(self._ask(node, api, message) for node in nodes))
        return list(zip(nodes, answers, strict=True))

    async def _leaders(self, names: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """Partitions by the node that leads them.

        :raises KafkaError: a partition does not exist, or has no leader now.
        """
        wanted = list(names)
        self._metadata.want({name.topic for name in wanted})
        if any(self._metadata.leader(name) == NO_NODE for name in wanted):
            await self._refresh()
        by_leader: dict[int, list[TopicPartition]] = {}
        for name in wanted:
            picture = self._metadata.topics.get(name.topic)
            if picture is None:
                error = self._metadata.errors.get(name.topic, Error.UNKNOWN_TOPIC_OR_PARTITION)
                if error is Error.UNKNOWN_TOPIC_OR_PARTITION:
                    raise UnknownPartition(f"topic {name.topic!r} does not exist")
                raise error_for(error, f"topic {name.topic!r} cannot be used")
            if not 0 <= name.partition < picture.partition_count:
                raise UnknownPartition(
                    f"topic {name.topic!r} has no partition {name.partition}; its partitions are 0 to "
                    f"{picture.partition_count - 1}"
                )
            leader = self._metadata.leader(name)
            if leader == NO_NODE:
                raise error_for(Error.LEADER_NOT_AVAILABLE, f"{name} has no leader")
            by_leader.setdefault(leader, []).append(name)
        return by_leader

    async def _coordinator(self, kind: CoordinatorType, key: str) -> int:
        finder = self._finder(kind, key)
        error = await settled(finder.found(), self.config.default_api_timeout_ms / 1000)
        if error is not None:
            raise error
        if finder.node is None:
            raise error_for(Error.COORDINATOR_NOT_AVAILABLE, f"{key!r} has no coordinator")
        return finder.node

    def _finder(self, kind: CoordinatorType, key: str) -> CoordinatorFinder:
        finder = self._finders.get((kind, key))
        if finder is None:
            finder = self._finders[kind, key] = CoordinatorFinder(
                self._network,
                key,
                kind,
                retry_backoff_ms=self.config.retry_backoff_ms,
                retry_backoff_max_ms=self.config.retry_backoff_max_ms,
                on_found=lambda now_ms: None,
                on_error=lambda error, now_ms: None,
            )
        return finder

    async def _at_coordinator(self, kind: CoordinatorType, key: str, ask: Callable[[int], Awaitable[T]]) -> T:
        """The result of asking the coordinator, found again when it has moved."""

        async def attempt() -> T:
            node = await self._coordinator(kind, key)
            try:
                return await ask(node)
            except KafkaError as error:
                if error.retriable:
                    self._finder(kind, key).forget()
                raise

        return await self._repeat(f"the request about {key!r}", attempt)

    def _group_offsets(self, group_id: str) -> GroupOffsets:
        return GroupOffsets(self._network, self._finder(CoordinatorType.GROUP, group_id), group_id)


class UnknownPartition(UnknownTopicOrPartitionError):
    """Named by the caller, and not there. Unlike the code itself not retriable: waiting would not help."""

    def __init__(self, text: str) -> None:
        super().__init__(Error.UNKNOWN_TOPIC_OR_PARTITION, text)

    @property
    def retriable(self) -> bool:
        return False


def check(code: int, text: str, said: str | None = None) -> None:
    """Raise for an error code."""
    error = error_of(code)
    if error is not Error.NONE:
        raise error_for(error, f"{text}: {said}" if said else text)
