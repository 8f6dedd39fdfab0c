"""This broker's identity as reported to clients."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_LEADER: Final = -1
"""The leader's id if no node leads the partition."""


class SimulatedNode(NamedTuple):
    """A broker's address: ``host`` and ``port`` are those that clients are told."""

    node_id: int
    host: str
    port: int
    rack: str | None = None
