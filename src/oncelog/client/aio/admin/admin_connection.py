"""The life cycle of an admin client, and the cluster access that its parts share.

Called by the parts of the admin client.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Never, Self, TypeVar

from oncelog.client.aio.aiokafka_keywords import config_of
from oncelog.client.aio.connection.cluster_access import ClusterAccess
from oncelog.client.aio.offset_lookups import OffsetLookups
from oncelog.client.aio.polling import running_loop
from oncelog.client.core import arguments
from oncelog.client.core.client_errors import IllegalStateError
from oncelog.client.core.config import AdminConfig
from oncelog.client.core.connection.coordinator_lookup import CoordinatorFinder, CoordinatorType

if TYPE_CHECKING:
    from typing import Unpack

    from oncelog.client.core.keywords import AdminKeywords


T = TypeVar("T")


class AdminConnection:
    """The connection of an admin client: its settings, its start and its end, without any administrative operation."""

    def __init__(
        self,
        *misplaced: Never,
        config: AdminConfig | None = None,
        ssl_context: ssl.SSLContext | None = None,
        **settings: Unpack[AdminKeywords],
    ) -> None:
        self.config = config_of("Admin", AdminConfig, misplaced, config, settings)
        self._asked = ClusterAccess(self.config, timeout_ms=self.config.default_api_timeout_ms, ssl_context=ssl_context)
        self._started = False
        self._closed = False

    async def start(self) -> None:
        """Connect.

        :raises KafkaConnectionError: no broker can be reached.
        """
        if self._started:
            raise IllegalStateError("the admin client was started already")
        running_loop()
        self._started = True
        try:
            await self._asked.start()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connections. May be called twice."""
        if not self._closed:
            self._closed = True
            await self._asked.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def cluster(self) -> ClusterAccess:
        """Direct access to the cluster, for requests that no method covers."""
        self._asked.check_open("admin client")
        return self._asked

    def _group(self, group_id: str) -> CoordinatorFinder:
        return self.cluster.finder(CoordinatorType.GROUP, arguments.text(group_id, "group_id"))

    async def _at_group(self, group_id: str, ask: Callable[[int], Awaitable[T]]) -> T:
        """Ask the group's coordinator."""
        return await self.cluster.at_coordinator(f"the request about group {group_id!r}", self._group(group_id), ask)

    def _group_offsets(self, group_id: str) -> OffsetLookups:
        return OffsetLookups(self.cluster, self._group(group_id), group_id)
