"""The brokers that the fixtures pass to tests: an embedded broker, or an existing cluster. A test that uses only the
methods of :class:`TestBroker` runs with both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, NewTopic
from oncelog.embedded import Broker
from oncelog.errors import OncelogError
from oncelog.runtime.chance import uuid4
from oncelog.types import INTERNAL_TOPICS

if TYPE_CHECKING:
    from oncelog.apps.proxy.proxy import FaultProxy
    from oncelog.broker.server.nodes import Nodes

NO_DELAY: Mapping[str, object] = {"group.initial.rebalance.delay.ms": 0}
"""Default settings of a broker for tests."""
KEPT: Mapping[str, str] = {"retention.ms": "-1"}
"""Settings of a topic from which retention removes no record."""


class TestBroker(ABC):
    """The common interface of an embedded broker and an existing cluster."""

    __test__ = False  # pytest must not collect this class, despite its name

    _admin: Admin | None = None
    _admin_servers = ""
    _share_groups: Mapping[str, list[str]] = MappingProxyType({})
    """The share groups that the test has set up, and the settings that it gave them."""

    @property
    @abstractmethod
    def bootstrap_servers(self) -> str:
        """``HOST:PORT`` for clients' ``bootstrap.servers``; the proxy's address if a test uses a proxy."""

    @property
    @abstractmethod
    def direct_bootstrap_servers(self) -> str:
        """``HOST:PORT`` of the broker itself, bypassing the faults of a proxy."""

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replication_factor: int = -1,
        keep: bool = False,
    ) -> str:
        """Create a topic and return its name, which on an existing cluster has a random suffix.

        :param configs: its properties, such as ``{"cleanup.policy": "compact"}``.
        :param replication_factor: how many nodes hold it; -1: as ``default.replication.factor`` says, which with
            several nodes is up to 3 unless it is set.
        :param keep: keep records whatever their timestamps are; else those older than ``retention.ms``, a week, may be
            removed at any time, as in Apache Kafka.
        :raises KafkaError: the broker refuses it.
        """
        given = {**(KEPT if keep else {}), **(configs or {})}
        self.admin.create_topics([NewTopic(name, partitions, replication_factor, topic_configs=given)])
        return name

    def share_group(self, name: str, configs: Mapping[str, str] | None = None) -> str:
        """Set up a share group and return its name, which on an existing cluster has a random suffix.

        It reads its topics from their beginning, unless ``configs`` has another ``share.auto.offset.reset``: a new
        group would start at their end. The settings are removed after the test.

        :param configs: its properties, such as ``{"share.isolation.level": "read_committed"}``.
        :raises KafkaError: the broker refuses one.
        """
        given = {"share.auto.offset.reset": "earliest", **(configs or {})}
        self.admin.alter_configs({ConfigResource(ConfigResourceType.GROUP, name): given})
        self._share_groups = {**self._share_groups, name: sorted(given)}
        return name

    def _remove_group_settings(self) -> None:
        found, self._share_groups = self._share_groups, {}
        for name, settings in found.items():
            self.admin.alter_configs({ConfigResource(ConfigResourceType.GROUP, name): dict.fromkeys(settings)})

    @property
    def admin(self) -> Admin:
        """A blocking admin client that bypasses the proxy's faults; closed after the test."""
        servers = self.direct_bootstrap_servers
        if self._admin is not None and self._admin_servers != servers:
            self._close_admin()  # a node that a test stops and starts again gets another port
        if self._admin is None:
            self._admin, self._admin_servers = Admin(bootstrap_servers=servers).__enter__(), servers
        return self._admin

    @abstractmethod
    def clean(self) -> None:
        """Remove everything that the test before left behind."""

    def _close_admin(self) -> None:
        if self._admin is not None:
            self._admin.__exit__(None, None, None)
            self._admin = None


class Embedded(Broker, TestBroker):
    """An oncelog broker in this process, with all methods of ``oncelog.Broker``."""

    def __init__(self, settings: Mapping[str, object], data: Path | None = None, nodes: int = 1) -> None:
        super().__init__(data, settings={**NO_DELAY, **settings}, nodes=nodes, faults=True)

    @property
    def direct_bootstrap_servers(self) -> str:
        return self.bootstrap_servers

    def taken_by_retention(self) -> list[str]:
        """Sentences about records that retention has removed from existing topics, one for each partition."""
        try:
            removed = self.on_loop(lambda nodes: dict(nodes.server.broker.logs.removed))
        except OncelogError:  # the node does not run
            return []
        return [
            f"{partition}: {count} offsets, because their records were older than the topic's retention allows: keep "
            f"them with create_topic({partition.topic!r}, keep=True)"
            for partition, count in sorted(removed.items())
            if partition.topic not in INTERNAL_TOPICS
        ]

    def clean(self) -> None:
        """Remove all faults and their effects, abort open transactions, then delete every group and topic."""
        self.faults.clear()
        if not self.is_running:
            self.start()
        elif self.on_loop(_has_failed):
            self.restart()  # only a restart can reopen a partition that a fault has stopped
        open_ids = [found.transactional_id for found in self.admin.list_transactions(states=["Ongoing"])]
        if open_ids:
            self.admin.fence_producers(open_ids)
        groups = [listed.group_id for listed in self.admin.list_consumer_groups()]
        for group in groups:  # members of a failed test's groups would delay those of the next test
            self.on_loop(partial(_expire, group))
        if groups:
            self.admin.delete_consumer_groups(groups)
        self._remove_group_settings()
        topics = self.admin.list_topics()
        if topics:
            self.admin.delete_topics(topics)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_admin()
        super().__exit__(kind, error, trace)


def _expire(group: str, nodes: Nodes) -> None:
    nodes.expire_members(group, None)


def _has_failed(nodes: Nodes) -> bool:
    return any(partition.failed for partition in nodes.server.broker.topics.partitions.values())


class ExistingCluster(TestBroker):
    """An existing cluster, which runs on its own; only the topics that the tests have created are deleted."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._proxy: FaultProxy | None = None
        self._created: list[str] = []

    def __getattr__(self, name: str) -> NoReturn:
        if not name.startswith("_") and hasattr(Broker, name):
            raise AttributeError(
                f"{name} exists with an embedded broker only, and these tests run against an existing cluster"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def bootstrap_servers(self) -> str:
        return self._proxy.bootstrap_servers if self._proxy is not None else self._bootstrap_servers

    @property
    def direct_bootstrap_servers(self) -> str:
        return self._bootstrap_servers

    @contextmanager
    def behind(self, proxy: FaultProxy) -> Iterator[None]:
        """A context in which clients connect through ``proxy``."""
        self._proxy = proxy
        try:
            yield
        finally:
            self._proxy = None

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replication_factor: int = -1,
        keep: bool = False,
    ) -> str:
        own = f"{name}-{uuid4().hex[:8]}"
        self._created.append(own)
        return super().create_topic(own, partitions, configs, replication_factor, keep)

    def share_group(self, name: str, configs: Mapping[str, str] | None = None) -> str:
        return super().share_group(f"{name}-{uuid4().hex[:8]}", configs)

    def clean(self) -> None:
        self._remove_group_settings()
        created, self._created = self._created, []
        existing = set(self.admin.list_topics()) if created else set()
        left = [name for name in created if name in existing]
        if left:
            self.admin.delete_topics(left)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_admin()
