"""``oncelog.Broker``: the embedded broker, with faults and a schema registry on request.

The broker itself is in ``oncelog.broker.server.embedded``; this module adds the faults that tests inject, and the
registry. Their code is loaded only when :attr:`Broker.faults` is first used or a registry is requested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from oncelog.broker.server import embedded
from oncelog.broker.server.embedded import ANY_PORT, ClusterNode
from oncelog.errors import ConfigError, OncelogError

if TYPE_CHECKING:
    from pathlib import Path

    from oncelog.broker.faults.embedded import BrokerFaults
    from oncelog.broker.server.listener_settings import Address
    from oncelog.broker.server.server import Server
    from oncelog.runtime.ports import Disk
    from oncelog.schema_registry.serving import RegistryThread

__all__ = ["Broker", "ClusterNode"]


class Broker(embedded.Broker):
    __doc__ = f"""{embedded.Broker.__doc__}
    :param faults: put a simulated disk between the broker and its own, which can be full, slow or failing, and whose
        power can be cut (:meth:`BrokerFaults.power_loss`). The other faults work without this.
    :param schema_registry: also run a schema registry, at :attr:`schema_registry_url`; the broker's first listener must
        neither encrypt nor ask for a login. An address instead of True, such as ``0.0.0.0:0``, is where it listens;
        like a listener without a login, it is open to all who reach it. Needs ``pip install 'oncelog[schemas]'``.
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        listen: str = ANY_PORT,
        advertised: str | None = None,
        settings: Mapping[str, object] | None = None,
        first_users: Sequence[str] = (),
        nodes: int = 1,
        metrics: str | None = None,
        faults: bool = False,
        schema_registry: bool | str = False,
    ) -> None:
        super().__init__(
            data,
            listen=listen,
            advertised=advertised,
            settings=settings,
            first_users=first_users,
            nodes=nodes,
            metrics=metrics,
        )
        self._faults: BrokerFaults | None = None
        self._wants_registry = schema_registry is not False
        self._registry: RegistryThread | None = None
        self._registry_address: Address | None = None
        if not isinstance(schema_registry, bool):
            from oncelog.broker.server.listener_settings import Address

            self._registry_address = Address.parse(schema_registry)
        if faults:
            self.faults.has_disk = True

    @property
    def faults(self) -> BrokerFaults:
        """Faults in this broker, by name: ``broker.faults.lose_answer("Produce", topic="orders")``."""
        if self._faults is None:
            from oncelog.broker.faults.embedded import BrokerFaults

            self._faults = BrokerFaults(self)
            if self._server is not None:
                self.run_nodes(lambda nodes: self._started(nodes.server))
        return self._faults

    def start(self) -> Self:
        """Start and return once clients can connect; the registry, if there is one, takes requests and answers them as
        soon as it is loaded."""
        super().start()
        if self._wants_registry:
            try:
                self._start_registry()
            except BaseException:
                self.stop()
                raise
        return self

    def _start_registry(self) -> None:
        from oncelog.broker.server.listener_settings import Address
        from oncelog.schema_registry.serving import RegistryThread
        from oncelog.schema_registry.settings import RegistrySettings

        listener = self._bound[0]
        if listener.protocol.value != "PLAINTEXT":
            raise ConfigError(
                f"schema_registry=True needs a first listener without TLS and login, not {listener.protocol.value}: "
                "run oncelog schema-registry with a properties file"
            )
        settings = RegistrySettings({"bootstrap.servers": self.bootstrap_servers})
        address = self._registry_address or Address("127.0.0.1", 0)
        self._registry = RegistryThread(settings, address, open_to_all=True).start()
        self._registry_address = self._registry.address

    @property
    def schema_registry_url(self) -> str:
        """The schema registry's URL, for the setting ``schema.registry.url`` of clients on this machine; the same after
        a restart."""
        if self._registry is None:
            raise OncelogError("the broker has no schema registry: start it with schema_registry=True")
        return self._registry.url

    def stop(self) -> None:
        """Stop the registry, if there is one, and the broker."""
        registry = self._registry
        if registry is not None and not registry.is_inherited:
            self._registry = None
            registry.stop()
        super().stop()

    stop.__doc__ = embedded.Broker.stop.__doc__

    def _disk(self) -> Callable[[Disk], Disk] | None:
        return self._faults.disk if self._faults is not None and self._faults.has_disk else None

    async def _started(self, server: Server) -> None:
        if self._faults is not None:
            self._faults.enter(server)
