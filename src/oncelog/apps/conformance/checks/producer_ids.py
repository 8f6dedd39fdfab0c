"""Checks of the producer id and epoch that InitProducerId returns."""

from __future__ import annotations

from oncelog.apps.conformance.expect import among, holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.transactional_producer import (
    UNREPORTED,
    VERIFIED,
    RawTransactionalProducer,
    find_coordinator,
    init,
)
from oncelog.apps.conformance.registry import check, each
from oncelog.errors import Error

INVALID_REQUEST = Error.INVALID_REQUEST
INVALID_PID_MAPPING = Error.INVALID_PRODUCER_ID_MAPPING
INVALID_TXN_STATE = Error.INVALID_TXN_STATE
INVALID_TIMEOUT = Error.INVALID_TRANSACTION_TIMEOUT
INVALID_EPOCH = Error.INVALID_PRODUCER_EPOCH
FENCED = Error.PRODUCER_FENCED
ABORTABLE = Error.TRANSACTION_ABORTABLE
UNKNOWN_TOPIC = Error.UNKNOWN_TOPIC_OR_PARTITION
NOT_ATTEMPTED = Error.OPERATION_NOT_ATTEMPTED


@check("KIP-98")
def init_twice_gives_the_same_pid_and_fences_the_first(fixture: Fixture) -> None:
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    producer.send(topic, b"a")
    producer.commit()
    second = RawTransactionalProducer(producer.connection, producer.id).init()
    same((second.pid, second.epoch), (producer.pid, producer.epoch + 1))
    same(producer.end_once(commit=True).error_code, FENCED)
    same(set(producer.add_once((topic, 0)).values()), {FENCED})
    # without this verification a partition learns the new epoch only from the next batch or marker
    if not fixture.connection.is_since(VERIFIED):
        second.send(topic, b"b")
        second.commit()
    same(producer.send_once(topic, b"z").error, INVALID_EPOCH)


@check("KIP-98")
def a_new_id_starts_with_epoch_0(fixture: Fixture) -> None:
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    same(producer.epoch, 0)
    if producer.state() != UNREPORTED:
        same(producer.describe().producer_epoch, 0)


@check("KIP-588")
@each("version", "error", values=[(3, INVALID_EPOCH), (4, FENCED), (5, FENCED)])
def the_error_of_a_fenced_init_depends_on_the_version(fixture: Fixture, version: int, error: int) -> None:
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    for _ in range(2):
        RawTransactionalProducer(producer.connection, producer.id).init()
    answer = init(producer.connection, producer.id, version=version, pid=producer.pid, epoch=producer.epoch)
    same((answer.error_code, answer.producer_id, answer.producer_epoch), (error, -1, -1))


@check("KIP-98", assumes="transaction.max.timeout.ms is 900000")
@each("timeout_ms", values=[0, -1, 900_001, 2**31 - 1])
def a_timeout_out_of_range_is_refused(fixture: Fixture, timeout_ms: int) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    find_coordinator(connection, unique_name, 1)
    same(init(connection, unique_name, timeout_ms=timeout_ms).error_code, INVALID_TIMEOUT)


@check("KIP-98", assumes="transaction.max.timeout.ms is 900000")
@each("timeout_ms", values=[1, 900_000])
def the_bounds_of_the_timeout_are_taken(fixture: Fixture, timeout_ms: int) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    find_coordinator(connection, unique_name, 1)
    same(init(connection, unique_name, timeout_ms=timeout_ms).error_code, 0)


@check("KIP-98")
def an_idempotent_producer_may_name_any_timeout(fixture: Fixture) -> None:
    connection = fixture.connection
    for timeout_ms in (0, -1, 2**31 - 1):
        same(init(connection, None, timeout_ms=timeout_ms).error_code, 0)


@check("KIP-360")
def init_with_the_last_epoch_repeats_the_answer(fixture: Fixture) -> None:
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    connection = producer.connection
    first = init(connection, producer.id, pid=producer.pid, epoch=producer.epoch)
    again = init(connection, producer.id, pid=producer.pid, epoch=producer.epoch)
    same((first.error_code, first.producer_id, first.producer_epoch), (0, producer.pid, producer.epoch + 1))
    same((again.error_code, again.producer_id, again.producer_epoch), (0, producer.pid, producer.epoch + 1))
    third = init(connection, producer.id, pid=producer.pid, epoch=producer.epoch + 1)
    same(third.producer_epoch, producer.epoch + 2)
    same(init(connection, producer.id, pid=producer.pid, epoch=producer.epoch).error_code, FENCED)


@check("KIP-360")
@each("pid", "epoch", values=[(5, -1), (-1, 5), (-2, 0), (0, -2)])
@each("version", values=[3, 4, 5])
def init_with_half_an_identity_is_an_invalid_request(fixture: Fixture, version: int, pid: int, epoch: int) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    find_coordinator(connection, unique_name, 1)
    answer = init(connection, unique_name, version=version, pid=pid, epoch=epoch)
    expected = INVALID_REQUEST if (pid == -1) != (epoch == -1) else None
    if expected is not None:
        same(answer.error_code, expected)
    else:
        among(answer.error_code, (0, FENCED, INVALID_EPOCH))


@check("KIP-360")
def init_of_a_new_id_with_an_identity(fixture: Fixture) -> None:
    """InitProducerId with a producer id and epoch for an unknown transactional id returns a new producer id with epoch
    0, because the coordinator may have lost the id's state."""
    connection = fixture.connection
    unique_name = fixture.name
    find_coordinator(connection, unique_name, 1)
    answer = init(connection, unique_name, pid=0, epoch=0)
    same((answer.error_code, answer.producer_epoch), (0, 0))


@check("KIP-98")
@each("version", values=range(6))
def init_in_every_version(fixture: Fixture, version: int) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    find_coordinator(connection, unique_name, 1)
    same(init(connection, None, version=version).producer_epoch, 0)
    first = init(connection, unique_name, version=version)
    second = init(connection, unique_name, version=version)
    same((first.error_code, second.error_code), (0, 0))
    same((second.producer_id, first.producer_epoch, second.producer_epoch), (first.producer_id, 0, 1))
    same(init(connection, "", version=version).error_code, INVALID_REQUEST)


@check("KIP-98")
def pids_are_never_given_twice(fixture: Fixture) -> None:
    connection = fixture.connection
    pids = [init(connection, None).producer_id for _ in range(1200)]
    same(len(set(pids)), len(pids))


@check("KIP-360")
def an_identity_of_an_idempotent_producer_is_not_kept(fixture: Fixture) -> None:
    connection = fixture.connection
    first = init(connection, None)
    second = init(connection, None, pid=first.producer_id, epoch=0)
    same(second.error_code, 0)
    holds(second.producer_id != first.producer_id, "each producer gets its own producer id")
