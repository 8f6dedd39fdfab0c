"""What the fixtures hand to tests: an embedded broker, or a cluster that is there; and a class for those who come from
containers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from oncelog.client.blocking import Admin
from oncelog.client.core.admin_types import NewTopic
from oncelog.embedded import Broker

if TYPE_CHECKING:
    from oncelog.faults.proxy import FaultProxy
    from oncelog.server.nodes import Nodes

NO_DELAY: Mapping[str, object] = {"group.initial.rebalance.delay.ms": 0}
"""What a broker for tests has unless it is told otherwise."""


class TestBroker(ABC):
    """A broker that tests share. An embedded one is itself at ``broker`` (``oncelog.Broker``)."""

    __test__ = False  # no test class, whatever pytest thinks of its name

    def __init__(self) -> None:
        self._proxy: FaultProxy | None = None
        self._admin: Admin | None = None

    @property
    @abstractmethod
    def direct_bootstrap_servers(self) -> str:
        """``HOST:PORT`` past the faults of a proxy."""

    @property
    def bootstrap_servers(self) -> str:
        """``HOST:PORT`` for the clients' setting of that name; through the faults where a test has them."""
        return self._proxy.bootstrap_servers if self._proxy is not None else self.direct_bootstrap_servers

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        """Make a topic and return its name, which on a cluster that is there ends in something of its own.

        :param configs: its properties, such as ``{"cleanup.policy": "compact"}``.
        :raises KafkaError: the broker refuses it.
        """
        self.admin.create_topics([NewTopic(name, num_partitions=partitions, topic_configs=dict(configs or {}))])
        return name

    @property
    def admin(self) -> Admin:
        """A blocking admin client past the faults; closed at the end."""
        if self._admin is None:
            self._admin = Admin(bootstrap_servers=self.direct_bootstrap_servers).__enter__()
        return self._admin

    @abstractmethod
    def clean(self) -> None:
        """Whatever the last test left is gone."""

    @contextmanager
    def behind(self, proxy: FaultProxy) -> Iterator[None]:
        """Clients are led through ``proxy`` for as long as the block."""
        self._proxy = proxy
        try:
            yield
        finally:
            self._proxy = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._admin is not None:
            self._admin.__exit__(None, None, None)
            self._admin = None


class Embedded(TestBroker):
    """Ours, in this process."""

    def __init__(self, settings: Mapping[str, object], data: Path | None = None, nodes: int = 1) -> None:
        super().__init__()
        self.broker = Broker(data, settings={**NO_DELAY, **settings}, nodes=nodes, faults=True)

    @property
    def direct_bootstrap_servers(self) -> str:
        return self.broker.bootstrap_servers

    def clean(self) -> None:
        """Faults first, and what they have broken; then whatever is open; then every group and topic."""
        self.broker.faults.clear()
        if not self.broker.is_running:
            self.broker.start()
        elif self.broker.on_loop(_has_failed):
            self.broker.restart()  # only that reads the disk of a partition again that a fault has stopped
        open_ones = [found.transactional_id for found in self.admin.list_transactions(states=["Ongoing"])]
        if open_ones:
            self.admin.fence_producers(open_ones)
        groups = [listed.group_id for listed in self.admin.list_consumer_groups()]
        for group in groups:  # members of a failed test would keep the next one's waiting
            self.broker.on_loop(partial(_expire, group))
        if groups:
            self.admin.delete_consumer_groups(groups)
        topics = self.admin.list_topics()
        if topics:
            self.admin.delete_topics(topics)

    def __enter__(self) -> Self:
        self.broker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self.broker.stop()


def _expire(group: str, nodes: Nodes) -> None:
    nodes.expire_members(group, None)


def _has_failed(nodes: Nodes) -> bool:
    return any(partition.failed for partition in nodes.server.broker.topics.partitions.values())


class ClusterThere(TestBroker):
    """A cluster that somebody else runs: only what the tests made on it is removed."""

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__()
        self._bootstrap_servers = bootstrap_servers
        self._made: list[str] = []

    @property
    def direct_bootstrap_servers(self) -> str:
        return self._bootstrap_servers

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        import uuid

        own = f"{name}-{uuid.uuid4().hex[:8]}"
        self._made.append(own)
        return super().create_topic(own, partitions, configs)

    def clean(self) -> None:
        made, self._made = self._made, []
        there = set(self.admin.list_topics()) if made else set()
        left = [name for name in made if name in there]
        if left:
            self.admin.delete_topics(left)


class KafkaBroker(Broker):
    """For those who come from containers: ``with KafkaBroker() as kafka: kafka.get_bootstrap_server()``."""

    def __init__(self, settings: Mapping[str, object] | None = None) -> None:
        super().__init__(settings=settings)

    def get_bootstrap_server(self) -> str:
        """``HOST:PORT``."""
        return self.bootstrap_servers
