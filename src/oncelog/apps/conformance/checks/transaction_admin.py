"""Checks of what a coordinator reports about its transactions, and of how coordinators are found."""

from __future__ import annotations

from typing import Any

from oncelog.apps.conformance.expect import among, eventually, holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.transactional_producer import (
    RawTransactionalProducer,
    find_coordinator,
)
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.conformance.registry import check, each
from oncelog.errors import Error
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest

INVALID_REQUEST = Error.INVALID_REQUEST
INVALID_PID_MAPPING = Error.INVALID_PRODUCER_ID_MAPPING
INVALID_TXN_STATE = Error.INVALID_TXN_STATE
INVALID_TIMEOUT = Error.INVALID_TRANSACTION_TIMEOUT
INVALID_EPOCH = Error.INVALID_PRODUCER_EPOCH
FENCED = Error.PRODUCER_FENCED
ABORTABLE = Error.TRANSACTION_ABORTABLE
UNKNOWN_TOPIC = Error.UNKNOWN_TOPIC_OR_PARTITION
NOT_ATTEMPTED = Error.OPERATION_NOT_ATTEMPTED


@check("KIP-664")
def describe_transactions_tells_the_whole_state(fixture: Fixture) -> None:
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    empty = producer.describe()
    same((empty.transaction_state, empty.transaction_start_time_ms, empty.topics), ("Empty", -1, []))
    producer.send(topic, b"a")
    state = producer.describe()
    same(
        (state.error_code, state.transaction_state, state.producer_id, state.producer_epoch),
        (
            0,
            "Ongoing",
            producer.pid,
            producer.epoch,
        ),
    )
    same(state.transaction_timeout_ms, 60_000)
    holds(state.transaction_start_time_ms > 1_600_000_000_000, "the transaction has a start time")
    producer.commit()
    done = producer.describe()
    same((done.transaction_state, done.topics), ("CompleteCommit", []))


@check("KIP-664")
def describe_transactions_of_an_unknown_id(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    find_coordinator(connection, unique_name, 1)
    (state,) = connection.ask(DescribeTransactionsRequest(transactional_ids=[unique_name]), 0).transaction_states
    same((state.error_code, state.transactional_id, state.producer_id), (105, unique_name, 0))
    (empty,) = connection.ask(DescribeTransactionsRequest(transactional_ids=[""]), 0).transaction_states
    same(empty.error_code, INVALID_REQUEST)


def _listed(
    connection: RawConnection, ids: set[str], version: int | None = None, **filters: Any
) -> tuple[dict[str, str], Any]:
    version = connection.best(ListTransactionsRequest.API_KEY, 2) if version is None else version
    answer = connection.ask(ListTransactionsRequest(**filters), version)
    found = {state.transactional_id: state.transaction_state for state in answer.transaction_states}
    return {name: state for name, state in found.items() if name in ids}, answer


@check("KIP-664")
def list_transactions_filters(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    open_, done, empty = (
        RawTransactionalProducer(connection, fixture.on_this_node(f"{unique_name}-{part}")).init()
        for part in ("o", "d", "e")
    )
    open_.send(topic, b"a")
    done.send(topic, b"b")
    done.commit()
    ids = {open_.id, done.id, empty.id}
    every = {open_.id: "Ongoing", done.id: "CompleteCommit", empty.id: "Empty"}
    same(_listed(connection, ids)[0], every)
    for version in connection.versions(ListTransactionsRequest.API_KEY, range(3)):
        same(_listed(connection, ids, version)[0], every)
        same(set(_listed(connection, ids, version, state_filters=["Ongoing"])[0]), {open_.id})
        same(set(_listed(connection, ids, version, producer_id_filters=[done.pid, 2**40])[0]), {done.id})
    found, answer = _listed(connection, ids, state_filters=["Ongoing", "NoSuchState", "ongoing"])
    same(set(found), {open_.id})
    same(sorted(answer.unknown_state_filters), ["NoSuchState", "ongoing"])
    same(_listed(connection, ids, state_filters=["Empty"], producer_id_filters=[open_.pid])[0], {})
    if connection.offers(ListTransactionsRequest.API_KEY, 1):
        _by_duration(connection, ids, empty.id, every)
    if connection.offers(ListTransactionsRequest.API_KEY, 2):
        named = _listed(connection, ids, transactional_id_pattern=f"{unique_name}-[de].*")[0]
        same(named, {done.id: "CompleteCommit", empty.id: "Empty"})
        same(_listed(connection, ids, transactional_id_pattern="")[0], every)
    open_.abort()


def _by_duration(connection: RawConnection, ids: set[str], empty: str, every: dict[str, str]) -> None:
    """Check the duration filter of ListTransactions: the duration is counted from the transaction's start time, which
    is -1 if the transactional id has had no transaction yet."""
    same(_listed(connection, ids, 1, duration_filter=3_600_000)[0], {empty: "Empty"})
    eventually(lambda: _listed(connection, ids, 1, duration_filter=1)[0] == every)
    same(_listed(connection, ids, 1, duration_filter=-1)[0], every)


@check("KIP-1152")
def list_transactions_refuses_a_pattern_that_is_none(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    find_coordinator(connection, unique_name, 1)
    answer = connection.ask(ListTransactionsRequest(transactional_id_pattern="(["), 2)
    same(answer.error_code, 128)


@check("KIP-699")
@each("version", values=range(7))
def find_coordinator_in_every_version(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    find_coordinator(connection, unique_name, 0)
    find_coordinator(connection, unique_name, 1)
    for kind in (0, 1) if version else (0,):
        if version >= 4:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[unique_name, unique_name + "-2"])
            found = connection.ask(request, version).coordinators
            same(
                [(entry.key, entry.error_code, entry.error_message) for entry in found],
                [
                    (unique_name, 0, ""),
                    (unique_name + "-2", 0, ""),
                ],
            )
            port = found[0].port
        else:
            request = FindCoordinatorRequest(key=unique_name)
            if version:
                request.key_type = kind
            answer = connection.ask(request, version)
            same((answer.error_code, answer.error_message), (0, "NONE" if version else ""))
            port = answer.port
        if connection.world is None or connection.world.nodes == 1:
            among(f":{port}", connection.bootstrap_servers)


@check("KIP-699")
def find_coordinator_of_a_kind_that_does_not_exist(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    answer = connection.ask(FindCoordinatorRequest(key=unique_name, key_type=9), 3)
    same(answer.error_code, INVALID_REQUEST)
    if connection.offers(FindCoordinatorRequest.API_KEY, 4):
        (entry,) = connection.ask(FindCoordinatorRequest(key_type=9, coordinator_keys=[unique_name]), 4).coordinators
        same(entry.error_code, INVALID_REQUEST)
