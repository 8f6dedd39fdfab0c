"""How a transaction is ended, which clients may end it, and what is refused.

Timeouts, exhausted epochs and crashes need a broker that the tests control; ``tests/integration/conformance`` checks
them.
"""

from __future__ import annotations

from typing import Any

from oncelog.apps.conformance.expect import among, eventually, holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch
from oncelog.apps.conformance.raw.bodies import READ_COMMITTED, READ_UNCOMMITTED
from oncelog.apps.conformance.raw.transactional_producer import (
    CONCURRENT_TRANSACTIONS,
    PUT_OFF,
    UNREPORTED,
    VERIFIED,
    RawTransactionalProducer,
    find_coordinator,
    init,
)
from oncelog.apps.conformance.raw.wire import PRODUCE, RawConnection
from oncelog.apps.conformance.registry import check, each
from oncelog.errors import Error
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest

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
@each("version_2", values=[False, True])
def init_during_an_open_transaction_aborts_it(fixture: Fixture, version_2: bool) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    old = RawTransactionalProducer(connection, unique_name + "-id", version_2=version_2).init()
    old.send(topic, b"never")
    answer = init(connection, old.id)
    same((answer.error_code, answer.producer_id, answer.producer_epoch), (CONCURRENT_TRANSACTIONS, -1, -1))
    new = RawTransactionalProducer(connection, old.id, version_2=version_2).init()
    same(new.pid, old.pid)
    holds(new.epoch > old.epoch, "the new epoch is higher")
    same(connection.read_committed(topic), [])
    same(connection.fetch(topic).batches[1].marker()[0], "abort")
    among(old.end_once(commit=True).error_code, (FENCED, INVALID_EPOCH))


@check("KIP-98")
def one_unknown_topic_keeps_the_others_out(fixture: Fixture) -> None:
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    missing = unique_name + "-missing"
    errors = producer.add_once((topic, 0), (missing, 0), (missing, 1))
    same(errors, {(topic, 0): NOT_ATTEMPTED, (missing, 0): UNKNOWN_TOPIC, (missing, 1): UNKNOWN_TOPIC})
    if producer.state() != UNREPORTED:
        state = producer.describe()
        same((state.transaction_state, state.topics), ("Empty", []))


@check("KIP-98")
def one_unknown_partition_keeps_the_others_out(fixture: Fixture) -> None:
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    errors = producer.add_once((topic, 0), (topic, 5))
    same(errors, {(topic, 0): NOT_ATTEMPTED, (topic, 5): UNKNOWN_TOPIC})


@check("KIP-98")
def requests_while_the_transaction_is_being_ended_are_put_off(fixture: Fixture) -> None:
    """An EndTxn and an AddPartitionsToTxn are sent in immediate succession: the transaction is still in Prepare when
    the second request arrives, or it is complete if the markers were written first."""
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    producer.send(topic, b"a")
    connection = producer.connection
    end = EndTxnRequest(
        transactional_id=producer.id, producer_id=producer.pid, producer_epoch=producer.epoch, committed=True
    )
    with connection.another() as other:
        version = connection.best(EndTxnRequest.API_KEY, 4)
        number = connection.send_message(end, version)
        second = RawTransactionalProducer(other, producer.id)
        second.pid, second.epoch = producer.pid, producer.epoch
        errors = set(second.add_once((topic, 0)).values())
        connection.receive(number, flexible=version >= 3)
    holds(
        errors <= {CONCURRENT_TRANSACTIONS, 0},
        "the request is refused with CONCURRENT_TRANSACTIONS, or accepted once the end is complete",
    )
    producer.add((topic, 0))
    producer.commit()


@check("KIP-98")
@each("commit", values=[True, False])
def the_end_is_seen_on_every_partition_soon_after_the_answer(fixture: Fixture, commit: bool) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    connection.create_topic(unique_name, 3)
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    for index in range(3):
        producer.send(unique_name, b"v%d" % index, partition=index)
        same(connection.list_offset(unique_name, partition=index, isolation=READ_COMMITTED).offset, 0)
    same(producer.end_once(commit=commit).error_code, 0)
    for index in range(3):
        until_stable(connection, unique_name, index, 2)
        expected = [b"v%d" % index] if commit else []
        same(connection.read_committed(unique_name, partition=index), expected)


@check("KIP-98")
@each("commit", values=[True, False])
@each("version", values=range(5))
def the_end_may_be_repeated_but_not_changed(fixture: Fixture, version: int, commit: bool) -> None:
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    producer.send(topic, b"a")
    same(producer.end_once(commit=commit, version=version).error_code, 0)
    among(producer.completed(), ("CompleteCommit" if commit else "CompleteAbort", UNREPORTED))
    for _ in range(2):
        same(producer.end_once(commit=commit, version=version).error_code, 0)
    same(producer.end_once(commit=not commit, version=version).error_code, INVALID_TXN_STATE)


@check("KIP-98")
@each("commit", values=[True, False])
def there_is_nothing_to_end_in_an_empty_transaction(fixture: Fixture, commit: bool) -> None:
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    same(producer.end_once(commit=commit).error_code, INVALID_TXN_STATE)


@check("KIP-890")
@each("commit", values=[True, False])
def each_end_gives_the_next_epoch(fixture: Fixture, commit: bool) -> None:
    topic = fixture.topic()
    producer_2 = RawTransactionalProducer(fixture.connection, fixture.name, version_2=True).init()
    producer = producer_2
    producer.send(topic, b"a", b"b")
    first = producer.epoch
    answer = producer.end_once(commit=commit)
    same((answer.error_code, answer.producer_id, answer.producer_epoch), (0, producer.pid, first + 1))
    producer.completed()
    stale = producer.send_once(topic, b"c")
    same(stale.error, INVALID_EPOCH)
    producer.epoch = answer.producer_epoch
    producer.sequences.clear()
    same(producer.send_once(topic, b"c", sequence=2).error, 45)
    producer.send(topic, b"c")
    marker = producer.connection.fetch(topic, 2).batches[0]
    same((marker.is_control, marker.epoch), (True, first + 1))
    producer.end(commit=True)
    same(producer.connection.read_committed(topic), ([b"a", b"b"] if commit else []) + [b"c"])


def until_stable(connection: RawConnection, topic: str, partition: int, offset: int) -> None:
    eventually(lambda: connection.list_offset(topic, partition=partition, isolation=READ_COMMITTED).offset == offset)


def _settled(answer: Any) -> Any:
    return None if answer.error in PUT_OFF else answer


@check("KIP-890")
def an_abort_without_a_partition_bumps_the_epoch(fixture: Fixture) -> None:
    topic = fixture.topic()
    producer_2 = RawTransactionalProducer(fixture.connection, fixture.name, version_2=True).init()
    producer = producer_2
    same(producer.end_once(commit=True).error_code, INVALID_TXN_STATE)
    answer = producer.end_once(commit=False)
    same((answer.error_code, answer.producer_id, answer.producer_epoch), (0, producer.pid, producer.epoch + 1))
    producer.epoch += 1
    producer.completed()
    producer.send(topic, b"a")
    producer.commit()
    same(producer.connection.read_committed(topic), [b"a"])


@check("KIP-890")
@each("commit", values=[True, False])
def the_end_repeated_with_the_old_epoch_is_answered_alike(fixture: Fixture, commit: bool) -> None:
    topic = fixture.topic()
    producer_2 = RawTransactionalProducer(fixture.connection, fixture.name, version_2=True).init()
    producer = producer_2
    producer.send(topic, b"a")
    first = producer.end_once(commit=commit)
    producer.completed()
    again = producer.end_once(commit=commit)
    same(
        (again.error_code, again.producer_id, again.producer_epoch),
        (
            first.error_code,
            first.producer_id,
            first.producer_epoch,
        ),
    )
    other = producer.end_once(commit=not commit)
    same(other.error_code, INVALID_TXN_STATE)
    same(producer.end_once(commit=commit, epoch=producer.epoch + 2).error_code, FENCED)


@check("KIP-890")
@each("before", values=["Empty", "CompleteCommit", "CompleteAbort"])
@each("commit", values=[True, False])
def the_end_with_the_current_epoch_where_no_transaction_is_open(fixture: Fixture, before: str, commit: bool) -> None:
    topic = fixture.topic()
    producer_2 = RawTransactionalProducer(fixture.connection, fixture.name, version_2=True).init()
    producer = producer_2
    if before != "Empty":
        producer.send(topic, b"a")
        producer.end(commit=before == "CompleteCommit")
    same(producer.describe().transaction_state, before)
    answer = producer.end_once(commit=commit)
    if commit:
        same((answer.error_code, answer.producer_id, answer.producer_epoch), (INVALID_TXN_STATE, -1, -1))
    else:
        same((answer.error_code, answer.producer_epoch), (0, producer.epoch + 1))
    if before == "Empty":
        producer.completed()
        stale = producer.end_once(commit=commit, epoch=producer.epoch - 1)
        same(stale.error_code, FENCED)


@check("KIP-588")
@each("version", values=range(6))
@each(
    "case",
    "error",
    values=[("empty id", 42), ("unknown id", 49), ("other pid", 49), ("old epoch", 90), ("new epoch", 90)],
)
def the_end_by_someone_else(fixture: Fixture, version: int, case: str, error: int) -> None:
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    RawTransactionalProducer(producer.connection, producer.id).init()
    producer.epoch += 1
    producer.send(topic, b"a")
    request = EndTxnRequest(
        transactional_id={"empty id": "", "unknown id": unique_name + "-x"}.get(case, producer.id),
        producer_id=producer.pid + (1 if case == "other pid" else 0),
        producer_epoch=producer.epoch + {"old epoch": -1, "new epoch": 1}.get(case, 0),
        committed=True,
    )
    expected = INVALID_EPOCH if error == FENCED and version < 2 else error
    same(producer.connection.ask(request, version).error_code, expected)
    among(producer.state(), ("Ongoing", UNREPORTED))
    producer.abort()


@check("KIP-890", assumes="transaction.partition.verification.enable is true", since=VERIFIED)
@each("version", "error", values=[(3, 48), (8, 48), (10, 48), (11, ABORTABLE)])
def a_partition_that_was_not_added_is_refused(fixture: Fixture, version: int, error: int) -> None:
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    answer = producer.send_once(topic, b"a", version=version, sequence=0)
    same((answer.error, answer.base_offset), (error, -1))
    same(producer.connection.list_offset(topic).offset, 0)


@check("KIP-890")
def produce_12_adds_the_partition_itself(fixture: Fixture) -> None:
    topic = fixture.topic()
    producer_2 = RawTransactionalProducer(fixture.connection, fixture.name, version_2=True).init()
    producer = producer_2
    producer.send(topic, b"a")
    state = producer.describe()
    same(state.transaction_state, "Ongoing")
    same([(added.topic, added.partitions) for added in state.topics], [(topic, [0])])
    producer.commit()
    same(producer.connection.read_committed(topic), [b"a"])


@check("KIP-890", assumes="transaction.partition.verification.enable is true", since=VERIFIED)
@each("version", values=[10, 11, 12])
@each("case", values=["unknown id", "other pid", "newer epoch", "older epoch"])
def a_transactional_batch_of_someone_else_is_refused(fixture: Fixture, version: int, case: str) -> None:
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    connection = producer.connection
    RawTransactionalProducer(connection, producer.id).init()
    producer.epoch += 1
    producer.add((topic, 0))
    data = batch(
        b"x",
        pid=producer.pid + (1 if case == "other pid" else 0),
        epoch=producer.epoch + {"newer epoch": 1, "older epoch": -1}.get(case, 0),
        sequence=0,
        attributes=TRANSACTIONAL,
    )
    name = unique_name + "-unknown" if case == "unknown id" else producer.id
    answer = eventually(lambda: _settled(connection.produce(topic, data, version=version, transactional_id=name)))
    same(answer.error, INVALID_EPOCH if "epoch" in case else INVALID_PID_MAPPING)
    same(connection.list_offset(topic).offset, 0)
    producer.abort()


@check("KIP-98")
def a_transactional_batch_needs_a_transactional_id(fixture: Fixture) -> None:
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    producer.add((topic, 0))
    data = batch(b"x", pid=producer.pid, epoch=producer.epoch, sequence=0, attributes=TRANSACTIONAL)
    same(producer.connection.produce(topic, data).error, 53)
    producer.abort()


@check("KIP-890", since=VERIFIED)
def one_request_is_of_one_transactional_producer(fixture: Fixture) -> None:
    unique_name = fixture.name
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    connection = producer.connection
    connection.create_topic(unique_name, 2)
    data = {
        (unique_name, index): batch(
            b"x", pid=producer.pid + index, epoch=producer.epoch, sequence=0, attributes=TRANSACTIONAL
        )
        for index in range(2)
    }
    answers = connection.produce_all(data, transactional_id=producer.id)
    same([answer.error for answer in answers.values()], [INVALID_PID_MAPPING] * 2)


@check("KIP-890", assumes="transaction.partition.verification.enable is true", since=VERIFIED)
def a_batch_in_an_open_transaction_is_not_verified_again(fixture: Fixture) -> None:
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    producer.send(topic, b"a")
    for step in range(3):
        same(producer.send_once(topic, b"%d" % step).error, 0)
    producer.commit()
    expected = ABORTABLE if producer.connection.offers(PRODUCE, 11) else INVALID_TXN_STATE
    same(producer.send_once(topic, b"late").error, expected)


@check("KIP-588")
@each("version", values=range(4))
@each(
    "case",
    "error",
    values=[("empty id", 42), ("unknown id", 49), ("other pid", 49), ("old epoch", 90), ("new epoch", 90)],
)
def adding_partitions_for_someone_else(fixture: Fixture, version: int, case: str, error: int) -> None:
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    connection = producer.connection
    other = RawTransactionalProducer(
        connection, {"empty id": "", "unknown id": unique_name + "-x"}.get(case, producer.id)
    )
    RawTransactionalProducer(connection, producer.id).init()
    other.pid = producer.pid + (1 if case == "other pid" else 0)
    other.epoch = 1 + {"old epoch": -1, "new epoch": 1}.get(case, 0)
    expected = INVALID_EPOCH if error == FENCED and version < 2 else error
    same(other.add_once((topic, 0), version=version), {(topic, 0): expected})
    group = AddOffsetsToTxnRequest(
        transactional_id=other.id, producer_id=other.pid, producer_epoch=other.epoch, group_id=unique_name
    )
    find_coordinator(connection, unique_name, 0)
    same(connection.ask(group, version).error_code, expected)


@check("KIP-98")
def a_transaction_on_several_topics_is_one(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    connection.create_topic(unique_name + "-a", 2)
    connection.create_topic(unique_name + "-b")
    producer = RawTransactionalProducer(connection, unique_name).init()
    for name, index in ((unique_name + "-a", 0), (unique_name + "-a", 1), (unique_name + "-b", 0)):
        producer.send(name, b"x", partition=index)
    producer.abort()
    for name, index in ((unique_name + "-a", 0), (unique_name + "-a", 1), (unique_name + "-b", 0)):
        same(connection.read_committed(name, partition=index), [])
        same(len(connection.fetch(name, 0, index, isolation=READ_UNCOMMITTED).batches), 2)


@check("KIP-98")
def sequences_continue_over_transactions_of_version_1(fixture: Fixture) -> None:
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    for commit in (True, False, True):
        producer.send(topic, b"a", b"b")
        producer.end(commit=commit)
    same(producer.sequences[topic, 0], 6)
    same(len(producer.connection.read_committed(topic)), 4)


@check("KIP-98")
def a_partition_that_was_added_but_not_written_gets_its_marker_too(fixture: Fixture) -> None:
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    producer.add((topic, 0))
    producer.commit()
    (marker,) = producer.connection.fetch(topic).batches
    same((marker.marker()[0], marker.pid, marker.epoch), ("commit", producer.pid, producer.epoch))
    same(producer.connection.list_offset(topic, isolation=READ_COMMITTED).offset, 1)


@check("KIP-98")
def an_open_transaction_ends_though_a_topic_of_it_was_deleted(fixture: Fixture) -> None:
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(fixture.connection, fixture.name).init()
    from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest

    connection = producer.connection
    connection.create_topic(unique_name + "-gone")
    producer.send(topic, b"a")
    producer.send(unique_name + "-gone", b"b")
    (deleted,) = connection.ask(
        DeleteTopicsRequest(topic_names=[unique_name + "-gone"], timeout_ms=10_000), 4
    ).responses
    same(deleted.error_code, 0)
    producer.commit()
    same(connection.read_committed(topic), [b"a"])
