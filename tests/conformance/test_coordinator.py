"""Checks 28-45 and 48: the transaction coordinator's answers, request by request.

Checks 35, 46, 49 (time and exhaustion) are in test_time_outs, 47 (a crash) in test_restarts.
"""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.conformance.transactions import (
    CONCURRENT_TRANSACTIONS,
    NOT_ENOUGH_REPLICAS,
    Transactional,
    find_coordinator,
    init,
)
from oncelog.conformance.wire import READ_COMMITTED, READ_UNCOMMITTED, TRANSACTIONAL, Connection, batch, eventually
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest

INVALID_REQUEST, INVALID_PID_MAPPING, INVALID_TXN_STATE, INVALID_TIMEOUT = 42, 49, 48, 50
INVALID_EPOCH, FENCED, ABORTABLE, UNKNOWN_TOPIC, NOT_ATTEMPTED = 47, 90, 120, 3, 55


@pytest.fixture
def producer(connection: Connection, unique_name: str) -> Transactional:
    """A producer of transaction version 1, initialised."""
    return Transactional(connection, unique_name).init()


@pytest.fixture
def producer_2(connection: Connection, unique_name: str) -> Transactional:
    """A producer of transaction version 2, initialised."""
    return Transactional(connection, unique_name, version_2=True).init()


def java_hash(text: str) -> int:
    value = 0
    for unit in text:
        value = (31 * value + ord(unit)) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


@pytest.mark.parametrize("name", ["polygenelubricants", "abc", "a-transactional-id-of-some-length"])
def test_check_28_the_id_lives_on_the_partition_of_its_java_hash(connection: Connection, name: str) -> None:
    value = java_hash(name)
    index = (0 if value == -(2**31) else abs(value)) % 50
    if name == "polygenelubricants":
        assert (value, index) == (-(2**31), 0)
    find_coordinator(connection, name, 1)
    eventually(lambda: connection.list_offset("__transaction_state", partition=index).error_code == 0)
    before = connection.list_offset("__transaction_state", partition=index).offset
    Transactional(connection, name).init()
    assert connection.list_offset("__transaction_state", partition=index).offset == before + 1


def test_check_29_init_twice_gives_the_same_pid_and_fences_the_first(producer: Transactional, topic: str) -> None:
    producer.send(topic, b"a")
    producer.commit()
    second = Transactional(producer.connection, producer.id).init()
    assert (second.pid, second.epoch) == (producer.pid, producer.epoch + 1)
    assert producer.end_once(commit=True).error_code == FENCED
    assert set(producer.add_once((topic, 0)).values()) == {FENCED}
    assert producer.send_once(topic, b"z").error == INVALID_EPOCH


def test_check_29_a_new_id_starts_with_epoch_0(producer: Transactional) -> None:
    assert producer.epoch == 0
    assert producer.describe().producer_epoch == 0


@pytest.mark.parametrize(("version", "error"), [(3, INVALID_EPOCH), (4, FENCED), (5, FENCED)])
def test_check_30_a_fenced_init_is_told_by_version(producer: Transactional, version: int, error: int) -> None:
    for _ in range(2):
        Transactional(producer.connection, producer.id).init()
    answer = init(producer.connection, producer.id, version=version, pid=producer.pid, epoch=producer.epoch)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (error, -1, -1)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001, 2**31 - 1])
def test_check_31_a_time_out_out_of_range_is_refused(connection: Connection, unique_name: str, timeout_ms: int) -> None:
    find_coordinator(connection, unique_name, 1)
    assert init(connection, unique_name, timeout_ms=timeout_ms).error_code == INVALID_TIMEOUT


@pytest.mark.parametrize("timeout_ms", [1, 900_000])
def test_check_31_the_bounds_of_the_time_out_are_taken(
    connection: Connection, unique_name: str, timeout_ms: int
) -> None:
    find_coordinator(connection, unique_name, 1)
    assert init(connection, unique_name, timeout_ms=timeout_ms).error_code == 0


def test_check_31_an_idempotent_producer_may_name_any_time_out(connection: Connection) -> None:
    for timeout_ms in (0, -1, 2**31 - 1):
        assert init(connection, None, timeout_ms=timeout_ms).error_code == 0


def test_check_32_init_with_the_last_epoch_repeats_the_answer(producer: Transactional) -> None:
    connection = producer.connection
    first = init(connection, producer.id, pid=producer.pid, epoch=producer.epoch)
    again = init(connection, producer.id, pid=producer.pid, epoch=producer.epoch)
    assert (first.error_code, first.producer_id, first.producer_epoch) == (0, producer.pid, producer.epoch + 1)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (0, producer.pid, producer.epoch + 1)
    third = init(connection, producer.id, pid=producer.pid, epoch=producer.epoch + 1)
    assert third.producer_epoch == producer.epoch + 2
    assert init(connection, producer.id, pid=producer.pid, epoch=producer.epoch).error_code == FENCED


@pytest.mark.parametrize(("pid", "epoch"), [(5, -1), (-1, 5), (-2, 0), (0, -2)])
@pytest.mark.parametrize("version", [3, 4, 5])
def test_check_33_init_with_half_an_identity_is_an_invalid_request(
    connection: Connection, unique_name: str, version: int, pid: int, epoch: int
) -> None:
    find_coordinator(connection, unique_name, 1)
    answer = init(connection, unique_name, version=version, pid=pid, epoch=epoch)
    expected = INVALID_REQUEST if (pid == -1) != (epoch == -1) else None
    if expected is not None:
        assert answer.error_code == expected
    else:
        assert answer.error_code in (0, FENCED, INVALID_EPOCH)


def test_check_33_init_of_a_new_id_with_an_identity(connection: Connection, unique_name: str) -> None:
    """A new id takes a given identity for one of its own whose state was lost: fresh pid, epoch 0."""
    find_coordinator(connection, unique_name, 1)
    answer = init(connection, unique_name, pid=0, epoch=0)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)


@pytest.mark.parametrize("version", range(6))
def test_init_in_every_version(connection: Connection, unique_name: str, version: int) -> None:
    find_coordinator(connection, unique_name, 1)
    assert init(connection, None, version=version).producer_epoch == 0
    first = init(connection, unique_name, version=version)
    second = init(connection, unique_name, version=version)
    assert (first.error_code, second.error_code) == (0, 0)
    assert (second.producer_id, first.producer_epoch, second.producer_epoch) == (first.producer_id, 0, 1)
    assert init(connection, "", version=version).error_code == INVALID_REQUEST


def test_pids_are_never_given_twice(connection: Connection) -> None:
    pids = [init(connection, None).producer_id for _ in range(1200)]
    assert len(set(pids)) == len(pids)


def test_an_identity_of_an_idempotent_producer_is_not_kept(connection: Connection) -> None:
    first = init(connection, None)
    second = init(connection, None, pid=first.producer_id, epoch=0)
    assert second.error_code == 0
    assert second.producer_id != first.producer_id


@pytest.mark.parametrize("version_2", [False, True])
def test_check_34_init_during_an_open_transaction_aborts_it(
    connection: Connection, topic: str, unique_name: str, version_2: bool
) -> None:
    old = Transactional(connection, unique_name + "-id", version_2=version_2).init()
    old.send(topic, b"never")
    answer = init(connection, old.id)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (CONCURRENT_TRANSACTIONS, -1, -1)
    new = Transactional(connection, old.id, version_2=version_2).init()
    assert new.pid == old.pid
    assert new.epoch > old.epoch
    assert connection.read_committed(topic) == []
    assert connection.fetch(topic).batches[1].marker()[0] == "abort"
    assert old.end_once(commit=True).error_code in (FENCED, INVALID_EPOCH)


def test_check_36_one_unknown_topic_keeps_the_others_out(producer: Transactional, topic: str, unique_name: str) -> None:
    missing = unique_name + "-missing"
    errors = producer.add_once((topic, 0), (missing, 0), (missing, 1))
    assert errors == {(topic, 0): NOT_ATTEMPTED, (missing, 0): UNKNOWN_TOPIC, (missing, 1): UNKNOWN_TOPIC}
    state = producer.describe()
    assert (state.transaction_state, state.topics) == ("Empty", [])


def test_check_36_one_unknown_partition_keeps_the_others_out(producer: Transactional, topic: str) -> None:
    errors = producer.add_once((topic, 0), (topic, 5))
    assert errors == {(topic, 0): NOT_ATTEMPTED, (topic, 5): UNKNOWN_TOPIC}


def test_check_37_requests_while_the_transaction_is_being_ended_are_put_off(
    producer: Transactional, topic: str
) -> None:
    """Written at once behind each other: the second meets Prepare, or the end where the markers were quicker."""
    producer.send(topic, b"a")
    connection = producer.connection
    end = EndTxnRequest(
        transactional_id=producer.id, producer_id=producer.pid, producer_epoch=producer.epoch, committed=True
    )
    with connection.another() as other:
        number = connection.send(26, 4, end.encode(4))
        rival = Transactional(other, producer.id)
        rival.pid, rival.epoch = producer.pid, producer.epoch
        errors = set(rival.add_once((topic, 0)).values())
        connection.receive(number, flexible=True)
    assert errors <= {CONCURRENT_TRANSACTIONS, 0}
    producer.add((topic, 0))
    producer.commit()


def test_check_38_adding_a_partition_again_writes_nothing(producer: Transactional, topic: str) -> None:
    partition = abs(java_hash(producer.id)) % 50
    producer.add((topic, 0))
    before = producer.connection.list_offset("__transaction_state", partition=partition).offset
    for _ in range(3):
        assert producer.add_once((topic, 0)) == {(topic, 0): 0}
    assert producer.connection.list_offset("__transaction_state", partition=partition).offset == before
    producer.abort()


@pytest.mark.parametrize("commit", [True, False])
def test_check_39_the_end_is_seen_on_every_partition_soon_after_the_answer(
    connection: Connection, unique_name: str, commit: bool
) -> None:
    connection.create_topic(unique_name, 3)
    producer = Transactional(connection, unique_name + "-id").init()
    for index in range(3):
        producer.send(unique_name, b"v%d" % index, partition=index)
        assert connection.list_offset(unique_name, partition=index, isolation=READ_COMMITTED).offset == 0
    assert producer.end_once(commit=commit).error_code == 0
    for index in range(3):
        eventually(lambda index=index: connection.list_offset(unique_name, partition=index, isolation=1).offset == 2)
        expected = [b"v%d" % index] if commit else []
        assert connection.read_committed(unique_name, partition=index) == expected


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", range(5))
def test_check_40_the_end_may_be_repeated_but_not_changed(
    producer: Transactional, topic: str, version: int, commit: bool
) -> None:
    producer.send(topic, b"a")
    assert producer.end_once(commit=commit, version=version).error_code == 0
    assert producer.completed() == ("CompleteCommit" if commit else "CompleteAbort")
    for _ in range(2):
        assert producer.end_once(commit=commit, version=version).error_code == 0
    assert producer.end_once(commit=not commit, version=version).error_code == INVALID_TXN_STATE


@pytest.mark.parametrize("commit", [True, False])
def test_check_41_there_is_nothing_to_end_in_an_empty_transaction(producer: Transactional, commit: bool) -> None:
    assert producer.end_once(commit=commit, version=4).error_code == INVALID_TXN_STATE


@pytest.mark.parametrize("commit", [True, False])
def test_check_42_each_end_gives_the_next_epoch(producer_2: Transactional, topic: str, commit: bool) -> None:
    producer = producer_2
    producer.send(topic, b"a", b"b")
    first = producer.epoch
    answer = producer.end_once(commit=commit)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, producer.pid, first + 1)
    producer.completed()
    stale = producer.send_once(topic, b"c")
    assert stale.error == INVALID_EPOCH
    producer.epoch = answer.producer_epoch
    producer.sequences.clear()
    out_of_order = eventually(lambda: _settled(producer.send_once(topic, b"c", sequence=2)))
    assert out_of_order.error == 45
    producer.send(topic, b"c")
    marker = producer.connection.fetch(topic, 2).batches[0]
    assert (marker.is_control, marker.epoch) == (True, first + 1)
    producer.end(commit=True)
    assert producer.connection.read_committed(topic) == ([b"a", b"b"] if commit else []) + [b"c"]


def _settled(answer: Any) -> Any:
    return None if answer.error in (CONCURRENT_TRANSACTIONS, NOT_ENOUGH_REPLICAS) else answer


def test_check_43_an_abort_without_a_partition_bumps_the_epoch(producer_2: Transactional, topic: str) -> None:
    producer = producer_2
    assert producer.end_once(commit=True).error_code == INVALID_TXN_STATE
    answer = producer.end_once(commit=False)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, producer.pid, producer.epoch + 1)
    producer.epoch += 1
    producer.completed()
    producer.send(topic, b"a")
    producer.commit()
    assert producer.connection.read_committed(topic) == [b"a"]


@pytest.mark.parametrize("commit", [True, False])
def test_check_44_the_end_repeated_with_the_old_epoch_is_answered_alike(
    producer_2: Transactional, topic: str, commit: bool
) -> None:
    producer = producer_2
    producer.send(topic, b"a")
    first = producer.end_once(commit=commit)
    producer.completed()
    again = producer.end_once(commit=commit)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (
        first.error_code,
        first.producer_id,
        first.producer_epoch,
    )
    other = producer.end_once(commit=not commit)
    assert other.error_code == INVALID_TXN_STATE
    assert producer.end_once(commit=commit, epoch=producer.epoch + 2).error_code == FENCED


@pytest.mark.parametrize("before", ["Empty", "CompleteCommit", "CompleteAbort"])
@pytest.mark.parametrize("commit", [True, False])
def test_the_end_with_the_current_epoch_where_no_transaction_is_open(
    producer_2: Transactional, topic: str, before: str, commit: bool
) -> None:
    producer = producer_2
    if before != "Empty":
        producer.send(topic, b"a")
        producer.end(commit=before == "CompleteCommit")
    assert producer.describe().transaction_state == before
    answer = producer.end_once(commit=commit)
    if commit:
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (INVALID_TXN_STATE, -1, -1)
    else:
        assert (answer.error_code, answer.producer_epoch) == (0, producer.epoch + 1)
    if before == "Empty":
        producer.completed()
        stale = producer.end_once(commit=commit, epoch=producer.epoch - 1)
        assert stale.error_code == FENCED


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize(
    ("case", "error"), [("empty id", 42), ("unknown id", 49), ("other pid", 49), ("old epoch", 90), ("new epoch", 90)]
)
def test_the_end_by_someone_else(
    producer: Transactional, topic: str, unique_name: str, version: int, case: str, error: int
) -> None:
    Transactional(producer.connection, producer.id).init()
    producer.epoch += 1
    producer.send(topic, b"a")
    request = EndTxnRequest(
        transactional_id={"empty id": "", "unknown id": unique_name + "-x"}.get(case, producer.id),
        producer_id=producer.pid + (1 if case == "other pid" else 0),
        producer_epoch=producer.epoch + {"old epoch": -1, "new epoch": 1}.get(case, 0),
        committed=True,
    )
    expected = INVALID_EPOCH if error == FENCED and version < 2 else error
    assert producer.connection.ask(request, version).error_code == expected
    assert producer.describe().transaction_state == "Ongoing"
    producer.abort()


@pytest.mark.parametrize(("version", "error"), [(3, 48), (8, 48), (10, 48), (11, ABORTABLE)])
def test_check_45_a_partition_that_was_not_added_is_refused(
    producer: Transactional, topic: str, version: int, error: int
) -> None:
    answer = eventually(lambda: _settled(producer.send_once(topic, b"a", version=version, sequence=0)))
    assert (answer.error, answer.base_offset) == (error, -1)
    assert producer.connection.list_offset(topic).offset == 0


def test_check_45_produce_12_adds_the_partition_itself(producer_2: Transactional, topic: str) -> None:
    producer = producer_2
    producer.send(topic, b"a")
    state = producer.describe()
    assert state.transaction_state == "Ongoing"
    assert [(added.topic, added.partitions) for added in state.topics] == [(topic, [0])]
    producer.commit()
    assert producer.connection.read_committed(topic) == [b"a"]


@pytest.mark.parametrize("version", [10, 11, 12])
@pytest.mark.parametrize("case", ["unknown id", "other pid", "newer epoch", "older epoch"])
def test_a_transactional_batch_of_someone_else_is_refused(
    producer: Transactional, topic: str, unique_name: str, version: int, case: str
) -> None:
    connection = producer.connection
    Transactional(connection, producer.id).init()
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
    assert answer.error == (INVALID_EPOCH if "epoch" in case else INVALID_PID_MAPPING)
    assert connection.list_offset(topic).offset == 0
    producer.abort()


def test_a_transactional_batch_needs_a_transactional_id(producer: Transactional, topic: str) -> None:
    producer.add((topic, 0))
    data = batch(b"x", pid=producer.pid, epoch=producer.epoch, sequence=0, attributes=TRANSACTIONAL)
    assert producer.connection.produce(topic, data).error == 53
    producer.abort()


def test_one_request_bears_one_transactional_producer(producer: Transactional, unique_name: str) -> None:
    connection = producer.connection
    connection.create_topic(unique_name, 2)
    data = {
        (unique_name, index): batch(
            b"x", pid=producer.pid + index, epoch=producer.epoch, sequence=0, attributes=TRANSACTIONAL
        )
        for index in range(2)
    }
    answers = connection.produce_all(data, transactional_id=producer.id)
    assert [answer.error for answer in answers.values()] == [INVALID_PID_MAPPING] * 2


def test_a_batch_goes_on_in_an_open_transaction_without_being_verified_again(
    producer: Transactional, topic: str
) -> None:
    producer.send(topic, b"a")
    for step in range(3):
        assert producer.send_once(topic, b"%d" % step).error == 0
    producer.commit()
    assert producer.send_once(topic, b"late").error == ABORTABLE


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize(
    ("case", "error"), [("empty id", 42), ("unknown id", 49), ("other pid", 49), ("old epoch", 90), ("new epoch", 90)]
)
def test_adding_partitions_for_someone_else(
    producer: Transactional, topic: str, unique_name: str, version: int, case: str, error: int
) -> None:
    connection = producer.connection
    other = Transactional(connection, {"empty id": "", "unknown id": unique_name + "-x"}.get(case, producer.id))
    Transactional(connection, producer.id).init()
    other.pid = producer.pid + (1 if case == "other pid" else 0)
    other.epoch = 1 + {"old epoch": -1, "new epoch": 1}.get(case, 0)
    expected = INVALID_EPOCH if error == FENCED and version < 2 else error
    assert other.add_once((topic, 0), version=version) == {(topic, 0): expected}
    group = AddOffsetsToTxnRequest(
        transactional_id=other.id, producer_id=other.pid, producer_epoch=other.epoch, group_id=unique_name
    )
    find_coordinator(connection, unique_name, 0)
    assert connection.ask(group, version).error_code == expected


@pytest.mark.parametrize("version", range(5))
def test_add_offsets_adds_the_groups_partition(producer: Transactional, unique_name: str, version: int) -> None:
    producer.add_offsets(unique_name, version=version)
    state = producer.describe()
    index = abs(java_hash(unique_name)) % 50
    assert [(added.topic, added.partitions) for added in state.topics] == [("__consumer_offsets", [index])]
    producer.abort()


def test_describe_transactions_tells_the_whole_state(producer: Transactional, topic: str) -> None:
    empty = producer.describe()
    assert (empty.transaction_state, empty.transaction_start_time_ms, empty.topics) == ("Empty", -1, [])
    producer.send(topic, b"a")
    state = producer.describe()
    assert (state.error_code, state.transaction_state, state.producer_id, state.producer_epoch) == (
        0,
        "Ongoing",
        producer.pid,
        producer.epoch,
    )
    assert state.transaction_timeout_ms == 60_000
    assert state.transaction_start_time_ms > 1_600_000_000_000
    producer.commit()
    done = producer.describe()
    assert (done.transaction_state, done.topics) == ("CompleteCommit", [])


def test_describe_transactions_of_an_unknown_id(connection: Connection, unique_name: str) -> None:
    find_coordinator(connection, unique_name, 1)
    (state,) = connection.ask(DescribeTransactionsRequest(transactional_ids=[unique_name]), 0).transaction_states
    assert (state.error_code, state.transactional_id, state.producer_id) == (105, unique_name, 0)
    (empty,) = connection.ask(DescribeTransactionsRequest(transactional_ids=[""]), 0).transaction_states
    assert empty.error_code == INVALID_REQUEST


def _listed(connection: Connection, ids: set[str], version: int = 2, **filters: Any) -> tuple[dict[str, str], Any]:
    answer = connection.ask(ListTransactionsRequest(**filters), version)
    found = {state.transactional_id: state.transaction_state for state in answer.transaction_states}
    return {name: state for name, state in found.items() if name in ids}, answer


def test_list_transactions_filters(connection: Connection, topic: str, unique_name: str) -> None:
    open_, done, empty = (Transactional(connection, f"{unique_name}-{part}").init() for part in ("o", "d", "e"))
    open_.send(topic, b"a")
    done.send(topic, b"b")
    done.commit()
    ids = {open_.id, done.id, empty.id}
    every = {open_.id: "Ongoing", done.id: "CompleteCommit", empty.id: "Empty"}
    assert _listed(connection, ids)[0] == every
    for version in (0, 1, 2):
        assert _listed(connection, ids, version)[0] == every
        assert set(_listed(connection, ids, version, state_filters=["Ongoing"])[0]) == {open_.id}
        assert set(_listed(connection, ids, version, producer_id_filters=[done.pid, 2**40])[0]) == {done.id}
    found, answer = _listed(connection, ids, state_filters=["Ongoing", "NoSuchState", "ongoing"])
    assert set(found) == {open_.id}
    assert sorted(answer.unknown_state_filters) == ["NoSuchState", "ongoing"]
    assert _listed(connection, ids, state_filters=["Empty"], producer_id_filters=[open_.pid])[0] == {}
    # The duration is counted from the start, which is -1 where there was no transaction yet.
    assert _listed(connection, ids, 1, duration_filter=3_600_000)[0] == {empty.id: "Empty"}
    eventually(lambda: _listed(connection, ids, 1, duration_filter=1)[0] == every)
    assert _listed(connection, ids, 1, duration_filter=-1)[0] == every
    assert _listed(connection, ids, transactional_id_pattern=f"{unique_name}-[de]")[0] == {
        done.id: "CompleteCommit",
        empty.id: "Empty",
    }
    assert _listed(connection, ids, transactional_id_pattern="")[0] == every
    open_.abort()


def test_list_transactions_refuses_a_pattern_that_is_none(connection: Connection, unique_name: str) -> None:
    find_coordinator(connection, unique_name, 1)
    answer = connection.ask(ListTransactionsRequest(transactional_id_pattern="(["), 2)
    assert answer.error_code == 128


@pytest.mark.parametrize("version", range(7))
def test_find_coordinator_in_every_version(connection: Connection, unique_name: str, version: int) -> None:
    find_coordinator(connection, unique_name, 0)
    find_coordinator(connection, unique_name, 1)
    for kind in (0, 1) if version else (0,):
        if version >= 4:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[unique_name, unique_name + "-2"])
            found = connection.ask(request, version).coordinators
            assert [(entry.key, entry.error_code, entry.error_message) for entry in found] == [
                (unique_name, 0, ""),
                (unique_name + "-2", 0, ""),
            ]
            port = found[0].port
        else:
            request = FindCoordinatorRequest(key=unique_name)
            if version:
                request.key_type = kind
            answer = connection.ask(request, version)
            assert (answer.error_code, answer.error_message) == (0, "NONE" if version else "")
            port = answer.port
        assert f":{port}" in connection.bootstrap_servers


def test_find_coordinator_of_a_kind_that_does_not_exist(connection: Connection, unique_name: str) -> None:
    answer = connection.ask(FindCoordinatorRequest(key=unique_name, key_type=9), 3)
    assert answer.error_code == INVALID_REQUEST
    (entry,) = connection.ask(FindCoordinatorRequest(key_type=9, coordinator_keys=[unique_name]), 4).coordinators
    assert entry.error_code == INVALID_REQUEST


def test_a_transaction_on_several_topics_is_one(connection: Connection, unique_name: str) -> None:
    connection.create_topic(unique_name + "-a", 2)
    connection.create_topic(unique_name + "-b")
    producer = Transactional(connection, unique_name).init()
    for name, index in ((unique_name + "-a", 0), (unique_name + "-a", 1), (unique_name + "-b", 0)):
        producer.send(name, b"x", partition=index)
    producer.abort()
    for name, index in ((unique_name + "-a", 0), (unique_name + "-a", 1), (unique_name + "-b", 0)):
        assert connection.read_committed(name, partition=index) == []
        assert len(connection.fetch(name, 0, index, isolation=READ_UNCOMMITTED).batches) == 2


def test_sequences_continue_over_transactions_of_version_1(producer: Transactional, topic: str) -> None:
    for commit in (True, False, True):
        producer.send(topic, b"a", b"b")
        producer.end(commit=commit)
    assert producer.sequences[topic, 0] == 6
    assert len(producer.connection.read_committed(topic)) == 4


def test_a_partition_that_was_added_but_not_written_gets_its_marker_too(producer: Transactional, topic: str) -> None:
    producer.add((topic, 0))
    producer.commit()
    (marker,) = producer.connection.fetch(topic).batches
    assert (marker.marker()[0], marker.pid, marker.epoch) == ("commit", producer.pid, producer.epoch)
    assert producer.connection.list_offset(topic, isolation=READ_COMMITTED).offset == 1


def test_an_open_transaction_ends_though_a_topic_of_it_was_deleted(
    producer: Transactional, topic: str, unique_name: str
) -> None:
    from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest

    connection = producer.connection
    connection.create_topic(unique_name + "-gone")
    producer.send(topic, b"a")
    producer.send(unique_name + "-gone", b"b")
    (deleted,) = connection.ask(
        DeleteTopicsRequest(topic_names=[unique_name + "-gone"], timeout_ms=10_000), 4
    ).responses
    assert deleted.error_code == 0
    producer.commit()
    assert connection.read_committed(topic) == [b"a"]
