"""Gives raw clients access to a cluster: one node that leads and coordinates everything they use, without TLS or login.

Called by ``oncelog conformance`` and ``oncelog lab``. A raw client has one socket and follows no leader. So topics are
created with all replicas on one node, and names are chosen whose coordinator is that node. A fault proxy without faults
stands between the raw clients and the node; it encrypts and logs in if the client's settings say so. In that case the
proxy accepts only clients with the secret of ``TestedCluster.login``, so that no other program on this machine can use
the login meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection, TestedCluster
from oncelog.apps.proxy.proxy import FaultProxy
from oncelog.client.core.config import AdminConfig
from oncelog.client.core.releases import is_too_old, too_old
from oncelog.errors import OncelogError
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest

_WITH_FEATURES = 3
"""The first version of ApiVersions whose response contains the finalized features (KIP-584)."""


@contextlib.contextmanager
def single_node(config: AdminConfig) -> Iterator[tuple[str, TestedCluster]]:
    """A context: the address of a proxy through which raw clients reach the node with the lowest id without TLS or
    login, and what is known about the cluster.

    :raises OncelogError: no broker could be reached, the login was refused, or the broker is too old.
    """
    why = []
    for server in config.bootstrap_servers:
        with FaultProxy(server, upstream=config) as proxy:
            try:
                address, world = _enter(proxy.bootstrap_servers, proxy.client_properties)
            except (ConnectionClosed, OSError, ProtocolError) as error:
                why.append(proxy.why_closed or f"{server}: {error or 'it ended the connection'}")
                continue
            if is_too_old(world.offered):
                raise OncelogError(too_old(str(server)))
            yield address, world
            return
    raise OncelogError(f"no broker could be reached ({'; '.join(why)}); check bootstrap.servers and security.protocol")


def _enter(address: str, login: Mapping[str, str]) -> tuple[str, TestedCluster]:
    with RawConnection(address, login=login) as connection:
        versions = connection.ask(ApiVersionsRequest(), 0).api_keys
        offered = {entry.api_key: (entry.min_version, entry.max_version) for entry in versions}
        world = TestedCluster(0, 1, offered, login, _features(connection, offered))
        connection.world = world
        oldest = world.offered.get(MetadataRequest.API_KEY, (0, 0))[0]
        version = max(oldest, connection.best(MetadataRequest.API_KEY, 1))
        brokers = connection.ask(MetadataRequest(topics=[]), version).brokers
    node = min(brokers, key=lambda broker: broker.node_id, default=None)
    if node is None:
        raise OncelogError(f"{address} names no broker")
    world.node_id, world.nodes = node.node_id, len(brokers)
    return f"{node.host}:{node.port}", world


def _features(connection: RawConnection, offered: Mapping[int, tuple[int, int]]) -> Mapping[str, int]:
    if offered.get(ApiVersionsRequest.API_KEY, (0, 0))[1] < _WITH_FEATURES:
        return {}
    request = ApiVersionsRequest(client_software_name="oncelog", client_software_version="conformance")
    found = connection.ask(request, _WITH_FEATURES).finalized_features
    return {feature.name: feature.max_version_level for feature in found}


def name_on_node(connection: RawConnection, world: TestedCluster, name: str, kind: int) -> str:
    """The first of ``name``, ``name-2``, ``name-3``, ... whose coordinator is ``world.node_id``."""
    if world.nodes == 1:
        return name
    number = 1
    while True:
        candidate = name if number == 1 else f"{name}-{number}"
        if _coordinator(connection, candidate, kind) == world.node_id:
            return candidate
        number += 1


def _coordinator(connection: RawConnection, name: str, kind: int) -> int:
    request = FindCoordinatorRequest(key=name, key_type=kind)
    node: int = connection.ask_until(request, 2, lambda answer: answer.error_code == 0).node_id
    return node
