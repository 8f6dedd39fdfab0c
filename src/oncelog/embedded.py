"""``oncelog.Broker``: the embedded broker, with faults on request.

The broker itself is in ``oncelog.server.embedded``; this module adds the faults that tests inject. None of their code
is loaded, or costs anything, until :attr:`Broker.faults` is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from oncelog.server import embedded
from oncelog.server.embedded import ANY_PORT, ClusterNode

if TYPE_CHECKING:
    from pathlib import Path

    from oncelog.faults.embedded import BrokerFaults
    from oncelog.ports import Disk
    from oncelog.server.server import Server

__all__ = ["Broker", "ClusterNode"]


class Broker(embedded.Broker):
    __doc__ = f"""{embedded.Broker.__doc__}
    :param faults: put a simulated disk between the broker and its own, which can be full, slow or failing, and whose
        power can be cut (:meth:`BrokerFaults.power_loss`). The other faults work without this.
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        listen: str = ANY_PORT,
        settings: Mapping[str, object] | None = None,
        first_users: Sequence[str] = (),
        nodes: int = 1,
        metrics: str | None = None,
        faults: bool = False,
    ) -> None:
        super().__init__(data, listen=listen, settings=settings, first_users=first_users, nodes=nodes, metrics=metrics)
        self._faults: BrokerFaults | None = None
        if faults:
            self.faults.has_disk = True

    @property
    def faults(self) -> BrokerFaults:
        """Faults in this broker, by name: ``broker.faults.lose_answer("Produce", topic="orders")``."""
        if self._faults is None:
            from oncelog.faults.embedded import BrokerFaults

            self._faults = BrokerFaults(self)
            if self._server is not None:
                self.run_nodes(lambda nodes: self._started(nodes.server))
        return self._faults

    def _disk(self) -> Callable[[Disk], Disk] | None:
        return self._faults.disk if self._faults is not None and self._faults.has_disk else None

    async def _started(self, server: Server) -> None:
        if self._faults is not None:
            self._faults.enter(server)
