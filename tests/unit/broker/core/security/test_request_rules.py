"""Which permissions each kind of request needs; sources are Kafka's ``KafkaApis`` and the KIPs named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.broker.core.security import request_rules
from oncelog.broker.core.security.access import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID
from oncelog.broker.core.security.security_log import SecurityLog
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.runtime.timers import Timers

Grant = tuple[Operation, int]
CONTEXT: Any = SimpleNamespace(
    principal="User:a", client_host="127.0.0.1", api_key=ApiKey.INIT_PRODUCER_ID, api_version=3
)
OF_BROKERS: Any = SimpleNamespace(**{**vars(CONTEXT), "api_version": 4})


def ports(*granted: Grant) -> Any:
    """Ports of a caller that has these permissions, on resources of any name."""
    authorizer = SimpleNamespace(
        allows=lambda principal, host, operation, kind, name: (operation, kind) in granted,
        allows_some=lambda principal, host, operation, kind: (operation, kind) in granted,
    )
    return SimpleNamespace(authorizer=authorizer, security_log=SecurityLog(Timers()), now_ms=0)


WRITE_AS = (Operation.WRITE, TRANSACTIONAL_ID)
TWO_PHASE = (Operation.TWO_PHASE_COMMIT, TRANSACTIONAL_ID)
NO_ID = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
NO_CLUSTER = Error.CLUSTER_AUTHORIZATION_FAILED


def init(transactional_id: str | None = None, *, two_phase: bool = False) -> Any:
    return SimpleNamespace(transactional_id=transactional_id, enable_2pc=two_phase)


@pytest.mark.parametrize(
    ("granted", "request_", "error"),
    [
        ((), init(), NO_CLUSTER),
        ([(Operation.IDEMPOTENT_WRITE, CLUSTER)], init(), Error.NONE),
        ([(Operation.WRITE, TOPIC)], init(), Error.NONE),  # KIP-679
        ([(Operation.WRITE, TOPIC)], init("t"), NO_ID),
        ([WRITE_AS], init("t"), Error.NONE),
        ([WRITE_AS], init("t", two_phase=True), NO_ID),  # KIP-939
        ([TWO_PHASE], init("t", two_phase=True), NO_ID),
        ([WRITE_AS, TWO_PHASE], init("t", two_phase=True), Error.NONE),
    ],
)
def test_the_permissions_that_init_producer_id_needs_depend_on_its_transactional_id(
    granted: list[Grant], request_: Any, error: Error
) -> None:
    assert request_rules.idempotent_write(ports(*granted), CONTEXT, request_) is error


@pytest.mark.parametrize(
    ("granted", "context", "error"),
    [
        ([WRITE_AS], CONTEXT, Error.NONE),
        ([], CONTEXT, NO_ID),
        ([WRITE_AS], OF_BROKERS, NO_CLUSTER),
        ([(Operation.CLUSTER_ACTION, CLUSTER)], OF_BROKERS, Error.NONE),
    ],
)
def test_partitions_are_added_by_producers_and_from_version_4_on_by_brokers(
    granted: list[Grant], context: Any, error: Error
) -> None:
    asked = SimpleNamespace(v3_and_below_transactional_id="t")
    assert request_rules.transactional_id_or_broker(ports(*granted), context, asked) is error


@pytest.mark.parametrize("operation", [Operation.ALTER, Operation.CLUSTER_ACTION])
def test_writing_markers_needs_the_permission_cluster_action_or_alter(operation: Operation) -> None:
    """KIP-664."""
    assert request_rules.cluster_action_or_alter(ports((operation, CLUSTER)), CONTEXT, None) is Error.NONE
    assert request_rules.cluster_action_or_alter(ports(), CONTEXT, None) is NO_CLUSTER


def test_each_resource_type_has_its_own_authorization_error() -> None:
    asked = SimpleNamespace(group_id="g", transactional_id="t")
    rights = {
        request_rules.group(Operation.READ): ((Operation.READ, GROUP), Error.GROUP_AUTHORIZATION_FAILED),
        request_rules.cluster(Operation.ALTER): ((Operation.ALTER, CLUSTER), NO_CLUSTER),
        request_rules.transactional_id: (WRITE_AS, NO_ID),
    }
    for right, (grant, error) in rights.items():
        assert right(ports(grant), CONTEXT, asked) is Error.NONE
        assert right(ports(), CONTEXT, asked) is error


def test_the_first_missing_permission_is_the_error() -> None:
    request = InitProducerIdRequest(transactional_id="t")
    rights = (request_rules.transactional_id, request_rules.cluster(Operation.ALTER))
    refused: Any = request_rules.refused_request(ports((Operation.ALTER, CLUSTER)), CONTEXT, request, rights)
    assert refused.error_code == NO_ID
    assert request_rules.refused_request(ports(WRITE_AS, (Operation.ALTER, CLUSTER)), CONTEXT, request, rights) is None
