"""The coordinator on a host in memory: durability, markers, retries, waiting, sweeps. Checks cite Kafka and KIPs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from oncelog.broker.coordinator.runtime import LOG_ERRORS, LoggedMarker
from oncelog.broker.coordinator.transaction.shard import PARK_LIMIT_MS, RETRY_MS
from oncelog.broker.coordinator.transaction.states import TransactionState
from oncelog.broker.coordinator.transaction.transaction_coordinator import (
    DescribedTransaction,
    ListedTransaction,
    ProducerResult,
    TransactionCoordinator,
    TxnMarker,
)
from oncelog.broker.core.requests.work import finished
from oncelog.errors import Error
from oncelog.runtime.deferred import Deferred
from oncelog.settings.config import BrokerConfig, parse
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch, TopicPartition, java_hash_partition
from tests.support.transaction_host import MemoryTransactionHost

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
S = TransactionState
NOW = 1_000


@pytest.fixture
def host() -> MemoryTransactionHost:
    return MemoryTransactionHost({"t": 2, "u": 1})


@pytest.fixture
def coordinator(host: MemoryTransactionHost) -> TransactionCoordinator:
    return host.coordinator()


def init(
    coordinator: TransactionCoordinator, expected: ProducerIdAndEpoch = NO_PRODUCER, now_ms: int = NOW
) -> Deferred[ProducerResult]:
    return coordinator.init_producer_id("id", 60_000, expected, now_ms, node_id=None)


def add(
    coordinator: TransactionCoordinator,
    producer: ProducerIdAndEpoch,
    partitions: Sequence[TopicPartition] = (P0,),
    now_ms: int = NOW,
    version: int = 2,
) -> Deferred[Error]:
    return coordinator.add_partitions("id", producer, partitions, now_ms, version, node_id=None)


def end(
    coordinator: TransactionCoordinator,
    producer: ProducerIdAndEpoch,
    commit: bool = True,
    now_ms: int = NOW,
    version: int = 2,
) -> Deferred[ProducerResult]:
    return coordinator.end_txn("id", producer, commit, now_ms, version, node_id=None)


def state(coordinator: TransactionCoordinator) -> TransactionState | None:
    return coordinator.describe("id", node_id=None).state


def begun(coordinator: TransactionCoordinator, *partitions: TopicPartition) -> ProducerIdAndEpoch:
    """A producer with an open transaction."""
    producer = init(coordinator).value.producer
    assert add(coordinator, producer, partitions or (P0,)).value is Error.NONE
    return producer


# --- what does not depend on an id's state


@pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001])
def test_a_transaction_timeout_out_of_range_is_refused(coordinator: TransactionCoordinator, timeout_ms: int) -> None:
    result = coordinator.init_producer_id("id", timeout_ms, NO_PRODUCER, NOW, node_id=None).value
    assert result == ProducerResult(Error.INVALID_TRANSACTION_TIMEOUT)


def test_the_largest_transaction_timeout_is_accepted(coordinator: TransactionCoordinator) -> None:
    assert coordinator.init_producer_id("id", 900_000, NO_PRODUCER, NOW, node_id=None).value.error is Error.NONE


def test_every_request_with_an_empty_transactional_id_is_refused(coordinator: TransactionCoordinator) -> None:
    producer = ProducerIdAndEpoch(1, 0)
    assert coordinator.init_producer_id("", 0, NO_PRODUCER, NOW, node_id=None).value.error is Error.INVALID_REQUEST
    assert coordinator.add_partitions("", producer, [P0], NOW, 0, node_id=None).value is Error.INVALID_REQUEST
    assert coordinator.verify_partitions("", producer, [P0], NOW, node_id=None).value == {P0: Error.INVALID_REQUEST}
    assert coordinator.end_txn("", producer, True, NOW, 0, node_id=None).value.error is Error.INVALID_REQUEST
    assert coordinator.describe("", node_id=None).error is Error.INVALID_REQUEST


def test_init_producer_id_without_a_transactional_id_returns_a_fresh_producer_id_and_logs_nothing(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    first = coordinator.init_producer_id(None, -5, NO_PRODUCER, NOW, node_id=None).value
    second = coordinator.init_producer_id(None, -5, ProducerIdAndEpoch(5, 5), NOW, node_id=None).value
    assert (first, second) == (
        ProducerResult(Error.NONE, ProducerIdAndEpoch(1000, 0)),
        ProducerResult(Error.NONE, ProducerIdAndEpoch(1001, 0)),
    )
    assert host.log == []


def test_transactional_ids_of_a_partition_that_another_node_leads_are_refused(host: MemoryTransactionHost) -> None:
    coordinator = TransactionCoordinator(host, BrokerConfig)
    assert init(coordinator).value.error is Error.NOT_COORDINATOR
    assert coordinator.describe("id", node_id=None).error is Error.NOT_COORDINATOR


def test_the_transactional_id_with_the_smallest_hash_code_is_in_partition_0(
    coordinator: TransactionCoordinator,
) -> None:
    assert coordinator.runtime.partition_for("polygenelubricants").partition == 0


def test_a_marker_in_the_transaction_log_is_ignored(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    marker = LoggedMarker(9, producer, True)
    coordinator.runtime.complete_transaction(java_hash_partition("id", 50), marker)
    assert state(coordinator) is S.ONGOING


# --- answers and durability


def test_a_second_init_producer_id_fences_the_first_producer(coordinator: TransactionCoordinator) -> None:
    first, second = init(coordinator).value.producer, init(coordinator).value.producer
    assert (first, second) == ((1000, 0), (1000, 1))
    assert end(coordinator, first).value == ProducerResult(Error.PRODUCER_FENCED)
    assert end(coordinator, first, version=0).value == ProducerResult(Error.PRODUCER_FENCED)


def test_no_request_is_answered_before_its_record_is_durable(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    host.sync_at_once = False
    started = init(coordinator)
    assert not started.done
    host.sync()
    producer = started.value.producer
    added = add(coordinator, producer)
    assert not added.done
    host.sync()
    assert added.value is Error.NONE
    ended = end(coordinator, producer)
    assert not ended.done
    assert host.markers == []
    host.sync()
    assert ended.value == ProducerResult(Error.NONE, ProducerIdAndEpoch(1000, 1))


def test_a_repeated_request_to_add_partitions_waits_until_the_first_is_committed(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = init(coordinator).value.producer
    host.sync_at_once = False
    first, again = add(coordinator, producer), add(coordinator, producer)
    verified = coordinator.verify_partitions("id", producer, [P0], NOW, node_id=None)
    assert not first.done
    assert not again.done
    assert not verified.done
    assert len(host.log) == 2
    host.sync()
    assert (first.value, again.value, verified.value) == (Error.NONE, Error.NONE, {P0: Error.NONE})


def test_init_producer_id_repeats_its_answer_to_a_retry_until_a_failover(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = init(coordinator).value.producer
    assert init(coordinator, producer).value == init(coordinator, producer).value
    other = host.after_crash().coordinator()
    assert init(other, producer).value.error is Error.PRODUCER_FENCED


def test_adding_a_partition_of_the_transaction_again_writes_nothing(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator, P0, P1)
    length = len(host.log)
    assert add(coordinator, producer, [P1]).value is Error.NONE
    assert len(host.log) == length


def test_verification_distinguishes_present_from_absent_partitions(coordinator: TransactionCoordinator) -> None:
    producer = begun(coordinator, P0)
    verdicts = coordinator.verify_partitions("id", producer, [P1, P0], NOW, node_id=None).value
    assert verdicts == {P0: Error.NONE, P1: Error.TRANSACTION_ABORTABLE}
    zombie = ProducerIdAndEpoch(producer.producer_id, 7)
    assert coordinator.verify_partitions("id", zombie, [P0], NOW, node_id=None).value == {P0: Error.PRODUCER_FENCED}


# --- ending a transaction


def test_end_txn_is_answered_before_its_markers_are_written(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator, P1, P0)
    host.answer_at_once = False
    assert end(coordinator, producer).value.error is Error.NONE
    assert state(coordinator) is S.PREPARE_COMMIT
    assert host.markers == [TxnMarker(ProducerIdAndEpoch(1000, 1), True, 0, 2, (P0, P1))]
    host.answer_markers()
    assert state(coordinator) is S.COMPLETE_COMMIT


def test_end_txn_is_answered_before_its_markers_even_if_every_write_completes_at_once(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    host.sync_at_once = False
    seen: list[int] = []
    end(coordinator, producer).then(lambda result: seen.append(len(host.markers)))
    host.sync()
    assert seen == [0]
    assert len(host.markers) == 1


@pytest.mark.parametrize(("version", "epoch"), [(0, 0), (2, 1)])
def test_a_marker_contains_outcome_version_and_epoch(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost, version: int, epoch: int
) -> None:
    end(coordinator, begun(coordinator), commit=False, version=version)
    assert host.markers == [TxnMarker(ProducerIdAndEpoch(1000, epoch), False, 0, version, (P0,))]


def test_the_next_transaction_begins_at_once_if_every_write_completes_at_once(
    coordinator: TransactionCoordinator,
) -> None:
    producer = begun(coordinator)
    for _ in range(3):
        producer = end(coordinator, producer).value.producer
        assert add(coordinator, producer).value is Error.NONE


def test_a_transaction_without_partitions_needs_no_markers(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = init(coordinator).value.producer
    assert end(coordinator, producer, commit=False).value.producer == (1000, 1)
    assert host.markers == []
    assert state(coordinator) is S.COMPLETE_ABORT


def test_end_txn_repeated_after_the_completion_gets_the_same_answer(coordinator: TransactionCoordinator) -> None:
    producer = begun(coordinator)
    first = end(coordinator, producer).value
    assert end(coordinator, producer).value == first
    assert end(coordinator, producer, commit=False).value.error is Error.INVALID_TXN_STATE


def test_init_producer_id_during_a_transaction_aborts_it_and_the_next_init_producer_id_succeeds(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    old = begun(coordinator)
    assert init(coordinator).value == ProducerResult(Error.CONCURRENT_TRANSACTIONS)
    assert host.markers == [TxnMarker(ProducerIdAndEpoch(1000, 1), False, 0, 2, (P0,))]
    assert init(coordinator).value.producer == (1000, 2)
    assert end(coordinator, old).value.error is Error.PRODUCER_FENCED


# --- waiting for the completion


def test_requests_that_arrive_before_the_completion_wait_for_it_instead_of_getting_concurrent_transactions(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    host.answer_at_once = False
    following = end(coordinator, producer).value.producer
    added, ended = add(coordinator, following, [P1]), end(coordinator, following)
    assert not added.done
    host.answer_markers()
    assert added.value is Error.NONE
    assert ended.value.producer == (1000, 2)
    assert host.markers[-1].partitions == (P1,)


def test_waiting_requests_are_written_after_the_completion_and_answered_when_durable(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    host.answer_at_once = False
    following = end(coordinator, producer).value.producer
    added = add(coordinator, following)
    host.sync_at_once = False
    before = len(host.log)
    host.answer_markers()
    assert len(host.log) == before + 2  # Complete and the next Ongoing share a sync
    assert not added.done
    host.sync()
    assert added.value is Error.NONE


def test_a_request_that_waits_too_long_for_the_completion_gets_concurrent_transactions(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    host.answer_at_once = False
    following = end(coordinator, producer).value.producer
    added, started = add(coordinator, following, now_ms=NOW), init(coordinator, now_ms=NOW + 1)
    host.timers.fire(NOW + PARK_LIMIT_MS - 1)
    assert not added.done
    host.timers.fire(NOW + PARK_LIMIT_MS)
    assert added.value is Error.CONCURRENT_TRANSACTIONS
    assert not started.done
    host.timers.fire(NOW + PARK_LIMIT_MS + 1)
    assert started.value == ProducerResult(Error.CONCURRENT_TRANSACTIONS)
    host.answer_markers()
    assert add(coordinator, following).value is Error.NONE


def test_requests_that_would_be_refused_anyway_do_not_wait_for_the_completion(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    host.answer_at_once = False
    assert end(coordinator, producer, version=0).value.error is Error.NONE
    assert end(coordinator, producer, commit=False, version=0).value.error is Error.INVALID_TXN_STATE
    zombie = ProducerIdAndEpoch(producer.producer_id, producer.producer_epoch + 1)
    assert end(coordinator, zombie, version=0).value.error is Error.PRODUCER_FENCED


def test_requests_with_the_epoch_after_a_rotation_wait_for_the_completion_too(host: MemoryTransactionHost) -> None:
    coordinator = host.coordinator()
    producer = init(coordinator).value.producer
    while producer.producer_epoch < 32766:
        producer = init(coordinator).value.producer
    add(coordinator, producer)
    host.answer_at_once = False
    rotated = end(coordinator, producer).value.producer
    assert rotated == (1001, 0)
    assert host.markers[-1].producer == (1000, 32767)
    added = add(coordinator, rotated)
    assert not added.done
    host.answer_markers()
    assert added.value is Error.NONE


# --- markers that fail


@pytest.mark.parametrize(
    "error",
    [
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.REQUEST_TIMED_OUT,
        Error.NOT_ENOUGH_REPLICAS,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.KAFKA_STORAGE_ERROR,
        Error.UNKNOWN_SERVER_ERROR,
    ],
)
def test_failed_markers_are_resent_only_to_their_partitions(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost, error: Error
) -> None:
    host.marker_errors = {P1: error}
    end(coordinator, begun(coordinator, P0, P1))
    description = coordinator.describe("id", node_id=None)
    assert (description.state, description.partitions) == (S.PREPARE_COMMIT, (P1,))
    host.timers.fire(NOW + RETRY_MS)
    host.marker_errors = {}
    host.timers.fire(NOW + 2 * RETRY_MS)
    assert [marker.partitions for marker in host.markers] == [(P0, P1), (P1,), (P1,)]
    assert state(coordinator) is S.COMPLETE_COMMIT


@pytest.mark.parametrize("error", [Error.UNSUPPORTED_FOR_MESSAGE_FORMAT, Error.UNSUPPORTED_VERSION])
def test_a_partition_that_cannot_hold_markers_is_left_out(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost, error: Error
) -> None:
    host.marker_errors = {P0: error}
    end(coordinator, begun(coordinator, P0, P1))
    assert state(coordinator) is S.COMPLETE_COMMIT


@pytest.mark.parametrize("error", [Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED])
def test_markers_of_a_coordinator_that_was_replaced_are_given_up(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost, error: Error
) -> None:
    host.marker_errors = {P0: error, P1: Error.NOT_LEADER_OR_FOLLOWER}
    end(coordinator, begun(coordinator, P0, P1))
    host.marker_errors = {}
    host.timers.fire(NOW + 10 * RETRY_MS)
    assert len(host.markers) == 1
    assert state(coordinator) is S.PREPARE_COMMIT


def test_a_deleted_partition_needs_no_marker(coordinator: TransactionCoordinator, host: MemoryTransactionHost) -> None:
    producer = begun(coordinator, P0, TopicPartition("u", 0))
    del host.topics["u"]
    end(coordinator, producer)
    assert [marker.partitions for marker in host.markers] == [(P0,)]
    assert state(coordinator) is S.COMPLETE_COMMIT


def test_a_topic_deleted_between_two_attempts_to_write_markers_does_not_prevent_the_completion(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    host.marker_errors = {P0: Error.UNKNOWN_TOPIC_OR_PARTITION}
    end(coordinator, begun(coordinator, P0))
    del host.topics["t"]
    host.timers.fire(NOW + RETRY_MS)
    assert state(coordinator) is S.COMPLETE_COMMIT


# --- a log that fails


@pytest.mark.parametrize(("error", "reported"), list(LOG_ERRORS.items()))
def test_a_failed_append_to_the_transaction_log_is_reported_and_changes_no_state(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost, error: Error, reported: Error
) -> None:
    producer = begun(coordinator)
    before = coordinator.describe("id", node_id=None)
    host.append_error = error
    assert end(coordinator, producer).value == ProducerResult(reported)
    assert init(coordinator).value.error is reported
    assert coordinator.describe("id", node_id=None) == before
    host.append_error = Error.NONE
    assert end(coordinator, producer).value.error is Error.NONE


def test_failed_attempts_to_fence_a_producer_raise_the_epoch_only_once(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    begun(coordinator)
    host.append_error = Error.NOT_ENOUGH_REPLICAS
    for _ in range(3):
        assert init(coordinator).value.error is Error.COORDINATOR_NOT_AVAILABLE
    host.append_error = Error.NONE
    assert init(coordinator).value.error is Error.CONCURRENT_TRANSACTIONS
    assert host.markers[-1].producer.producer_epoch == 1


@pytest.mark.parametrize("error", [Error.NOT_ENOUGH_REPLICAS, Error.KAFKA_STORAGE_ERROR])
def test_the_completion_of_a_transaction_is_written_again_after_a_failed_append(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost, error: Error
) -> None:
    producer = begun(coordinator)
    host.answer_at_once = False
    following = end(coordinator, producer).value.producer
    added = add(coordinator, following)
    host.append_error = error
    host.answer_markers()
    assert state(coordinator) is S.PREPARE_COMMIT
    assert not added.done
    host.append_error = Error.NONE
    host.timers.fire(NOW + RETRY_MS)
    assert state(coordinator) is S.ONGOING
    assert added.value is Error.NONE


def test_a_transaction_held_open_by_a_full_disk_is_reported_once_and_ends_when_there_is_space(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost, caplog: pytest.LogCaptureFixture
) -> None:
    """Its producer only gets CONCURRENT_TRANSACTIONS."""
    host.marker_errors = {P0: Error.KAFKA_STORAGE_ERROR}
    producer = end(coordinator, begun(coordinator, P0, P1)).value.producer
    for attempt in range(1, 4):
        host.timers.fire(NOW + attempt * RETRY_MS)
    assert state(coordinator) is S.PREPARE_COMMIT
    (reported,) = [record.getMessage() for record in caplog.records]
    assert reported == (
        "the transaction of 'id' cannot be completed while the disk refuses writes to t-0: it is retried until the "
        "disk has free space; a partition that is offline needs a restart of the broker"
    )
    host.marker_errors = {}
    host.timers.fire(NOW + 4 * RETRY_MS)
    assert state(coordinator) is S.COMPLETE_COMMIT
    assert add(coordinator, producer).value is Error.NONE


def test_the_completion_of_a_transaction_stops_when_the_leadership_is_lost(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    host.answer_at_once = False
    end(coordinator, begun(coordinator))
    host.append_error = Error.NOT_LEADER_OR_FOLLOWER
    host.answer_markers()
    host.append_error = Error.NONE
    host.timers.fire(NOW + 10 * RETRY_MS)
    assert state(coordinator) is S.PREPARE_COMMIT


def test_a_decision_that_was_appended_but_not_committed_is_written_again_until_it_is_committed(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    host.sync_at_once = False
    ended = end(coordinator, producer)
    host.sync(Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    assert ended.value == ProducerResult(Error.COORDINATOR_NOT_AVAILABLE)
    assert host.markers == []
    host.sync_at_once = True
    host.timers.fire(NOW + RETRY_MS)
    assert host.markers[-1].commit
    assert end(coordinator, producer).value.producer == (1000, 1)


def test_a_request_that_writes_nothing_is_answered_after_earlier_writes_are_committed(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = init(coordinator).value.producer
    host.sync_at_once = False
    added = add(coordinator, producer)
    host.sync(Error.REQUEST_TIMED_OUT)
    assert added.value is Error.COORDINATOR_NOT_AVAILABLE
    assert add(coordinator, producer).value is Error.COORDINATOR_NOT_AVAILABLE
    host.timers.fire(NOW + RETRY_MS)
    again = add(coordinator, producer)
    assert not again.done
    host.sync()
    assert again.value is Error.NONE


# --- losing and taking over the leadership


def test_unloading_answers_waiting_requests_and_stops_the_markers(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    host.answer_at_once = False
    following = end(coordinator, producer).value.producer
    added = add(coordinator, following)
    coordinator.runtime.unload(java_hash_partition("id", 50))
    assert added.value is Error.NOT_COORDINATOR
    length = len(host.log)
    host.answer_markers()
    host.timers.fire(NOW + 10 * RETRY_MS)
    assert len(host.log) == length


def test_a_write_that_is_committed_after_the_unload_is_not_confirmed(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    host.sync_at_once = False
    ended = end(coordinator, producer)
    coordinator.runtime.unload(java_hash_partition("id", 50))
    host.sync()
    assert ended.value == ProducerResult(Error.NOT_COORDINATOR)
    assert host.markers == []


def reload(host: MemoryTransactionHost, coordinator: TransactionCoordinator, epoch: int) -> None:
    """Lose the leadership of the id's partition and gain it again."""
    partition = java_hash_partition("id", 50)
    coordinator.runtime.unload(partition)
    host.load(coordinator, partition, epoch, NOW)


def test_markers_of_a_former_leadership_complete_no_transaction(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    host.answer_at_once = False
    end(coordinator, begun(coordinator))
    reload(host, coordinator, epoch=3)
    host.answer_markers(1)
    assert state(coordinator) is S.PREPARE_COMMIT
    host.answer_markers(1)
    assert state(coordinator) is S.COMPLETE_COMMIT
    assert [marker.coordinator_epoch for marker in host.markers] == [0, 3]


def test_a_producer_id_requested_under_a_former_leadership_is_not_used(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    host.producer_ids_held = []
    former = init(coordinator)
    reload(host, coordinator, epoch=3)
    current = init(coordinator)
    host.producer_ids_held[1].resolve(51)
    assert current.value.producer == (51, 0)
    host.producer_ids_held[0].resolve(50)
    assert former.value.error is Error.NOT_COORDINATOR
    assert coordinator.describe("id", node_id=None).producer == (51, 0)


@pytest.mark.parametrize("commit", [True, False])
def test_a_reload_finishes_a_prepared_transaction_with_the_new_coordinator_epoch(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost, commit: bool
) -> None:
    producer = begun(coordinator, P0, P1)
    host.answer_at_once = False
    end(coordinator, producer, commit)
    after = host.after_crash()
    reloaded = after.coordinator(epoch=5, now_ms=NOW)
    assert after.markers == [TxnMarker(ProducerIdAndEpoch(1000, 1), commit, 5, 2, (P0, P1))]
    assert state(reloaded) is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    assert end(reloaded, producer, commit).value.producer == (1000, 1)


def test_a_reload_keeps_an_open_transaction_open(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator, P0)
    reloaded = host.after_crash().coordinator(epoch=1)
    assert state(reloaded) is S.ONGOING
    assert end(reloaded, producer).value.error is Error.NONE


def value_versions(host: MemoryTransactionHost) -> list[int]:
    return [int.from_bytes(record.value[:2], "big") for _, record in host.log if record.value]


def test_a_coordinator_reloaded_at_transaction_version_0_writes_old_record_versions(
    host: MemoryTransactionHost,
) -> None:
    coordinator = host.coordinator(transaction_version=0)
    producer = init(coordinator).value.producer
    assert add(coordinator, producer, version=0).value is Error.NONE
    assert end(coordinator, producer, version=0).value.error is Error.NONE
    assert value_versions(host) == [0, 0, 0, 0]
    assert state(host.after_crash().coordinator(transaction_version=2)) is S.COMPLETE_COMMIT


def test_at_transaction_version_0_requests_that_need_a_later_version_are_refused_and_change_nothing(
    host: MemoryTransactionHost,
) -> None:
    coordinator = host.coordinator(transaction_version=0)
    producer = init(coordinator).value.producer
    assert add(coordinator, producer, version=2).value is Error.UNSUPPORTED_VERSION
    assert end(coordinator, producer, commit=False, version=2).value.error is Error.UNSUPPORTED_VERSION
    assert state(coordinator) is S.EMPTY
    assert add(coordinator, producer, version=0).value is Error.NONE
    assert add(coordinator, producer, version=2).value is Error.NONE, "it is in the transaction: nothing to write"
    assert end(coordinator, producer, version=2).value.error is Error.UNSUPPORTED_VERSION
    assert state(coordinator) is S.ONGOING
    assert end(coordinator, producer, version=0).value.error is Error.NONE
    assert state(coordinator) is S.COMPLETE_COMMIT


def test_at_transaction_version_0_other_errors_take_precedence(host: MemoryTransactionHost) -> None:
    coordinator = host.coordinator(transaction_version=0)
    producer = init(coordinator).value.producer
    other = ProducerIdAndEpoch(producer.producer_id, producer.producer_epoch + 1)
    assert add(coordinator, other, version=2).value is Error.PRODUCER_FENCED
    assert end(coordinator, producer, commit=True, version=2).value.error is Error.INVALID_TXN_STATE


def test_a_lower_transaction_version_applies_from_the_next_record_of_the_log(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    host.transaction_version = 0
    assert end(coordinator, producer, version=2).value.error is Error.UNSUPPORTED_VERSION
    assert init(coordinator).value.error is Error.CONCURRENT_TRANSACTIONS
    assert value_versions(host) == [1, 1, 0, 0]
    assert [marker.transaction_version for marker in host.markers] == [0], "an abort of the older protocol"
    assert init(coordinator).value.producer == ProducerIdAndEpoch(producer.producer_id, 2)


def test_a_transactional_id_that_ended_its_last_transaction_at_version_2_continues_at_version_0(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = end(coordinator, begun(coordinator)).value.producer
    host.transaction_version = 0
    producer = init(coordinator, producer).value.producer
    assert add(coordinator, producer, version=0).value is Error.NONE
    assert end(coordinator, producer, version=0).value.error is Error.NONE
    assert state(host.after_crash().coordinator(transaction_version=0)) is S.COMPLETE_COMMIT


@pytest.mark.parametrize(("version", "marked"), [(0, 0), (1, 0), (2, 2)])
def test_a_timeout_aborts_with_the_current_transaction_version(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost, version: int, marked: int
) -> None:
    begun(coordinator)
    host.transaction_version = version
    host.timers.fire(NOW + 120_000)
    assert state(coordinator) is S.COMPLETE_ABORT
    assert [marker.transaction_version for marker in host.markers] == [marked]
    assert value_versions(host)[2:] == [min(version, 1)] * 2


def test_a_producer_id_that_arrives_late_is_applied_to_the_current_state(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    host.producer_ids_held = []
    first, second = init(coordinator), init(coordinator)
    assert not first.done
    host.producer_ids_held[0].resolve(50)
    host.producer_ids_held[1].resolve(51)
    assert (first.value.producer, second.value.producer) == ((50, 0), (50, 1))


def test_a_missing_producer_id_is_reported(coordinator: TransactionCoordinator, host: MemoryTransactionHost) -> None:
    host.producer_ids_held = []
    waiting = [init(coordinator), coordinator.init_producer_id(None, 1, NO_PRODUCER, NOW, node_id=None)]
    for held in host.producer_ids_held:
        held.resolve(-1)
    assert [one.value.error for one in waiting] == [Error.COORDINATOR_LOAD_IN_PROGRESS] * 2
    assert host.log == []


def test_a_producer_id_that_arrives_after_the_unload_is_not_used(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    host.producer_ids_held = []
    waiting = init(coordinator)
    coordinator.runtime.unload(java_hash_partition("id", 50))
    host.producer_ids_held[0].resolve(50)
    assert waiting.value.error is Error.NOT_COORDINATOR


# --- sweeps


def test_a_transaction_past_its_timeout_is_aborted_within_the_check_interval(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    producer = begun(coordinator)
    host.timers.fire(60_000)
    assert state(coordinator) is S.ONGOING
    host.timers.fire(70_000)
    assert state(coordinator) is S.COMPLETE_ABORT
    assert host.markers == [TxnMarker(ProducerIdAndEpoch(1000, 1), False, 0, 2, (P0,))]
    assert add(coordinator, producer).value is Error.PRODUCER_FENCED
    assert end(coordinator, producer, version=0).value.error is Error.PRODUCER_FENCED
    # a new client takes it for the repetition of an end that it does not remember (Kafka 4.4.0)
    assert end(coordinator, producer).value.error is Error.INVALID_TXN_STATE


def test_an_expired_transactional_id_gets_a_new_producer_id(host: MemoryTransactionHost) -> None:
    config = parse(BrokerConfig, {"transactional.id.expiration.ms": "5000"})
    coordinator = host.coordinator(config)
    producer = init(coordinator).value.producer
    host.timers.fire(3_600_000)
    assert coordinator.describe("id", node_id=None).error is Error.TRANSACTIONAL_ID_NOT_FOUND
    assert end(coordinator, producer, version=0).value.error is Error.INVALID_PRODUCER_ID_MAPPING
    assert host.log[-1][1].value is None
    assert host.after_crash().coordinator().describe("id", node_id=None).error is Error.TRANSACTIONAL_ID_NOT_FOUND
    assert init(coordinator, producer).value.producer == (1001, 0)


def test_a_transactional_id_with_an_open_transaction_is_not_forgotten(host: MemoryTransactionHost) -> None:
    config = parse(
        BrokerConfig,
        {
            "transactional.id.expiration.ms": "5000",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "999999999",
        },
    )
    coordinator = host.coordinator(config)
    begun(coordinator)
    host.timers.fire(7_200_000)
    assert state(coordinator) is S.ONGOING


def test_many_idle_ids_of_a_partition_are_forgotten_in_batches(host: MemoryTransactionHost) -> None:
    config = parse(
        BrokerConfig, {"transactional.id.expiration.ms": "5000", "transaction.state.log.num.partitions": "1"}
    )
    coordinator = host.coordinator(config)
    for number in range(20):
        coordinator.init_producer_id(f"{number:02}" + "x" * 2_000, 1_000, NO_PRODUCER, NOW, node_id=None)
    host.timers.fire(3_600_000)
    assert finished(coordinator.list(0, node_id=None)).transactions == ()
    assert len(host.log) == 40


# --- operators


def test_describe_transactions_returns_an_open_transaction(coordinator: TransactionCoordinator) -> None:
    producer = begun(coordinator, P1, P0)
    assert coordinator.describe("id", node_id=None) == DescribedTransaction(
        Error.NONE, "id", producer, S.ONGOING, 60_000, NOW, (P0, P1)
    )
    assert coordinator.describe("nobody", node_id=None).error is Error.TRANSACTIONAL_ID_NOT_FOUND


def test_list_transactions_returns_only_transactions_that_match_the_filters(
    coordinator: TransactionCoordinator,
) -> None:
    begun(coordinator)
    coordinator.init_producer_id("idle", 1_000, NO_PRODUCER, NOW, node_id=None)
    both = {ListedTransaction("id", 1000, S.ONGOING), ListedTransaction("idle", 1001, S.EMPTY)}

    def ids(**filters: object) -> set[str]:
        found = finished(coordinator.list(NOW + 500, **filters, node_id=None))  # type: ignore[arg-type]
        return {listing.transactional_id for listing in found.transactions}

    assert set(finished(coordinator.list(NOW, node_id=None)).transactions) == both
    assert ids(states=["Ongoing"]) == {"id"}
    assert ids(states=["Ongoing", "Gone"]) == {"id"}
    assert finished(coordinator.list(NOW, states=["Ongoing", "Gone"], node_id=None)).unknown_states == ("Gone",)
    assert ids(states=["Gone"]) == set()
    assert ids(producer_ids=[1001]) == {"idle"}
    assert ids(duration_ms=499) == {"id", "idle"}
    assert ids(duration_ms=500) == {"idle"}  # one that never began counts from the epoch's start, as in Kafka
    assert ids(pattern="id") == {"id"}
    assert ids(pattern="id.*") == {"id", "idle"}
    assert finished(coordinator.list(NOW, pattern="(", node_id=None)).error is Error.INVALID_REGULAR_EXPRESSION


def test_listing_transactions_does_not_search_the_requested_producer_ids_for_each_transaction(
    host: MemoryTransactionHost,
) -> None:
    """A request can contain 60,000 ids: searching them for each of 100,000 transactions would take minutes."""
    coordinator = host.coordinator()
    for number in range(50):
        coordinator.init_producer_id(f"id-{number}", 1_000, NO_PRODUCER, NOW, node_id=None)

    class Ids(list[int]):
        def __contains__(self, _: object) -> bool:
            raise AssertionError("each look goes through all of them")

    found = finished(coordinator.list(NOW, producer_ids=Ids(range(1010, 70_000)), node_id=None))
    assert len(found.transactions) == 40


def test_transactions_that_expire_together_are_aborted_in_chunks(host: MemoryTransactionHost) -> None:
    """With other callbacks in between; each is aborted once."""
    coordinator = host.coordinator()
    for number in range(100):
        given = coordinator.init_producer_id(f"id-{number}", 1_000, NO_PRODUCER, NOW, node_id=None).value
        coordinator.add_partitions(f"id-{number}", given.producer, (P0,), NOW, 2, node_id=None)
    aborted: list[int] = []
    host.between = lambda: aborted.append(
        sum(
            1
            for listing in finished(coordinator.list(NOW, node_id=None)).transactions
            if listing.state is not S.ONGOING
        )
    )
    host.timers.fire(NOW + 20_000)
    steps = [after - before for before, after in zip([0, *aborted], aborted, strict=False)]
    assert aborted[-1] == 100
    assert max(steps) <= 10


def test_an_abort_of_expired_transactions_in_chunks_stops_when_the_shard_is_unloaded(
    host: MemoryTransactionHost,
) -> None:
    """The next write would overwrite what another shard of the partition knows by then."""
    coordinator = host.coordinator(parse(BrokerConfig, {"transaction.state.log.num.partitions": "1"}))
    for number in range(20):
        given = coordinator.init_producer_id(f"id-{number}", 1_000, NO_PRODUCER, NOW, node_id=None).value
        coordinator.add_partitions(f"id-{number}", given.producer, (P0,), NOW, 2, node_id=None)
    written: list[int] = []

    def moved() -> None:
        if not written:
            coordinator.runtime.unload(0)
            host.load(coordinator, 0, 1, NOW)
            written.append(len(host.log))

    host.between = moved
    host.timers.fire(NOW + 10_000)
    assert len(host.log) == written[0]
    host.timers.fire(NOW + 20_000)
    assert {listing.state for listing in finished(coordinator.list(NOW, node_id=None)).transactions} == {
        S.COMPLETE_ABORT
    }


def test_transaction_records_of_a_later_version_are_not_changed(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    init(coordinator)
    partition, record = host.log[0]
    host.log.append((partition, record._replace(key=b"\0\7" + record.key[2:], value=b"anything")))
    assert state(host.after_crash().coordinator()) is S.EMPTY


def test_an_open_transaction_keeps_its_remaining_time_when_the_clock_is_set(
    coordinator: TransactionCoordinator, host: MemoryTransactionHost
) -> None:
    begun(coordinator)
    coordinator.init_producer_id("idle", 60_000, NO_PRODUCER, NOW, node_id=None)
    hour_ms = 3_600_000
    for shard in coordinator.runtime.shards():
        shard.clock_was_set(hour_ms)
        for _ in shard.abort_timed_out(NOW + hour_ms + 60_000 - 1):
            pass
    assert state(coordinator) is S.ONGOING
    for shard in coordinator.runtime.shards():
        for _ in shard.abort_timed_out(NOW + hour_ms + 60_000 + 1):
            pass
    assert state(coordinator) is S.COMPLETE_ABORT


def test_an_expiration_fault_expires_only_an_open_transaction(coordinator: TransactionCoordinator) -> None:
    assert not coordinator.expire("id", NOW)
    begun(coordinator)
    assert coordinator.expire("id", NOW)
    assert state(coordinator) is S.COMPLETE_ABORT
    assert not coordinator.expire("id", NOW)
