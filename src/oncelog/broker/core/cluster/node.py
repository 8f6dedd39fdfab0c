"""The identity and address of a broker as reported to clients."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_LEADER: Final = -1
"""The value of the leader's id if no node leads the partition."""


class SimulatedNode(NamedTuple):
    """A broker's address as reported to clients; ``node_id`` is the broker's id."""

    node_id: int
    host: str
    port: int
    rack: str | None = None
