"""A broker's features (``transaction.version``, ``group.version``), described and set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tests.integration.conformance.nodes import Node, running_node

GROUP, TRANSACTION = "group.version", "transaction.version"
HIGHEST = {GROUP: 1, TRANSACTION: 2}
UPGRADE, SAFE, UNSAFE = 1, 2, 3


def finalized(connection: RawConnection, version: int = 4) -> tuple[int, dict[str, int]]:
    """The epoch, and the levels of the two features if the broker reports them."""
    answer = connection.ask(ApiVersionsRequest("conformance", "1"), version)
    levels = {row.name: row.max_version_level for row in answer.finalized_features if row.name in HIGHEST}
    return answer.finalized_features_epoch, levels


def update(
    connection: RawConnection, *wanted: tuple[str, int, int], version: int = 2, validate_only: bool = False
) -> Any:
    keys = [
        FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=how if version >= 1 else UPGRADE)
        for name, level, how in wanted
    ]
    return connection.ask(UpdateFeaturesRequest(feature_updates=keys, validate_only=validate_only), version)


def set_level(connection: RawConnection, feature: str, level: int) -> None:
    current = finalized(connection)[1].get(feature, 0)
    if level == current:
        return
    assert update(connection, (feature, level, UPGRADE if level > current else SAFE)).error_code == 0
    eventually(lambda: finalized(connection)[1].get(feature, 0) == level)


def set_transaction_version(bootstrap_servers: str, level: int) -> None:
    with RawConnection(bootstrap_servers) as connection:
        set_level(connection, TRANSACTION, level)


@contextmanager
def node_of_transaction_version(kind: str, level: int) -> Iterator[Node]:
    """A node that runs for the length of the block."""
    with running_node(kind) as node:
        set_transaction_version(node.bootstrap_servers, level)
        yield node
