"""The way to a cluster for raw clients: one node that leads and coordinates all they ask for, and a plain door to it.

Called by ``oncelog conformance`` and ``oncelog lab``. A raw client has one socket and follows no leader. So topics are
made with all replicas on one node, the home, and names are chosen whose coordinator is the home. A fault proxy
without faults stands in front: it encrypts and logs in where the client's settings say so.
"""

from __future__ import annotations

from typing import NamedTuple

from oncelog.client.blocking import Admin
from oncelog.client.core.config import AdminConfig
from oncelog.conformance.wire import Connection, World
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest


class Home(NamedTuple):
    """A node, where it is reached, and how many there are."""

    node_id: int
    address: str
    nodes: int


def find_home(config: AdminConfig) -> Home:
    """The node of a cluster with the lowest id.

    :raises OncelogError: no broker could be reached, or the login was refused.
    """
    with Admin(config=config) as admin:
        cluster = admin.describe_cluster()
    first = min(cluster.nodes, key=lambda node: node.node_id)
    return Home(first.node_id, f"{first.host}:{first.port}", len(cluster.nodes))


def name_at_home(connection: Connection, home: Home | World, name: str, kind: int) -> str:
    """``name``, or the first of ``name-2``, ``name-3``, ... whose coordinator is the home node."""
    if home.nodes == 1:
        return name
    number = 1
    while True:
        candidate = name if number == 1 else f"{name}-{number}"
        if _coordinator(connection, candidate, kind) == home.node_id:
            return candidate
        number += 1


def _coordinator(connection: Connection, name: str, kind: int) -> int:
    request = FindCoordinatorRequest(key=name, key_type=kind)
    node: int = connection.ask_until(request, 2, lambda answer: answer.error_code == 0).node_id
    return node
