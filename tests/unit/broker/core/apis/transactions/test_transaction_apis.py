"""The handlers of the transaction APIs: what each version answers (KIP-588, 664, 890, 994 and 1152)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.broker.core.limits.answer_memory import AnswerMemory
from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.core.registry import handler_for
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.tasks import Tasks
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.messages import request_type, response_type
from oncelog.protocol.wire import Message
from oncelog.runtime.deferred import Deferred
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition
from tests.support.transaction_host import MemoryTransactionHost
from tests.unit.broker.core.conftest import RecordingChannel

GROUP_PARTITION = TopicPartition(CONSUMER_OFFSETS_TOPIC, 3)
NOW = 5_000


class Asker:
    """Encodes a request, has its handler answer it, and decodes the answer, all in one version."""

    def __init__(self) -> None:
        self.host = MemoryTransactionHost({"t": 2, CONSUMER_OFFSETS_TOPIC: 50})
        topics = {name: SimpleNamespace(partitions=count) for name, count in self.host.topics.items()}
        self._broker: Any = SimpleNamespace(
            transactions=self.host.coordinator(),
            authorizer=None,
            now_ms=NOW,
            tasks=Tasks(),
            answer_memory=AnswerMemory(RequestMemory(0, 0)),
            metadata=SimpleNamespace(topic=topics.get),
            groups=SimpleNamespace(runtime=SimpleNamespace(partition_for=lambda group: GROUP_PARTITION)),
        )

    def ask(self, key: ApiKey, version: int, request: Message) -> Any:
        context = RequestContext(RecordingChannel(), 0, key, version, 0, "test", NOW)
        received = request_type(key).decode(request.encode(version), version)
        response = handler_for(key)(self._broker, context, received)
        self._broker.tasks.finish()
        if isinstance(response, Deferred):
            response = response.value
        return response_type(key).decode(response.encode(version), version)

    def init(self, version: int = 5, producer_id: int = -1, epoch: int = -1) -> Any:
        request = InitProducerIdRequest("id", 60_000, producer_id, epoch)
        return self.ask(ApiKey.INIT_PRODUCER_ID, version, request)

    def add(self, version: int, epoch: int, *topics: AddPartitionsToTxnTopic, verify: bool = False) -> Any:
        """The results by topic and partition."""
        if version < 4:
            request = AddPartitionsToTxnRequest([], "id", 1000, epoch, list(topics))
            results = self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, request).results_by_topic_v3_and_below
        else:
            transaction = AddPartitionsToTxnTransaction("id", 1000, epoch, verify, list(topics))
            response = self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, AddPartitionsToTxnRequest([transaction]))
            (result,) = response.results_by_transaction
            assert (response.error_code, result.transactional_id) == (0, "id")
            results = result.topic_results
        return {
            (topic.name, one.partition_index): Error(one.partition_error_code)
            for topic in results
            for one in topic.results_by_partition
        }


@pytest.fixture
def asker() -> Asker:
    return Asker()


def topic(name: str = "t", *partitions: int) -> AddPartitionsToTxnTopic:
    return AddPartitionsToTxnTopic(name, list(partitions or (0,)))


def end(asker: Asker, version: int, epoch: int, commit: bool = True) -> Any:
    return asker.ask(ApiKey.END_TXN, version, EndTxnRequest("id", 1000, epoch, commit))


@pytest.mark.parametrize("version", range(6))
def test_init_producer_id_returns_the_producer_id_in_every_version(asker: Asker, version: int) -> None:
    response = asker.init(version)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, 1000, 0)


@pytest.mark.parametrize(("version", "error"), [(3, Error.INVALID_PRODUCER_EPOCH), (4, Error.PRODUCER_FENCED)])
def test_init_producer_id_reports_fencing_with_the_error_of_its_version(
    asker: Asker, version: int, error: Error
) -> None:
    asker.init()
    response = asker.init(version, producer_id=77, epoch=0)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (error, -1, -1)


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 5)])
def test_init_producer_id_with_a_producer_id_without_an_epoch_is_an_invalid_request(
    asker: Asker, producer_id: int, epoch: int
) -> None:
    assert asker.init(3, producer_id, epoch).error_code == Error.INVALID_REQUEST


@pytest.mark.parametrize("version", range(6))
def test_add_partitions_to_txn_returns_a_result_for_every_partition(asker: Asker, version: int) -> None:
    asker.init()
    assert asker.add(version, 0, topic("t", 1, 0)) == {("t", 0): Error.NONE, ("t", 1): Error.NONE}


@pytest.mark.parametrize(
    ("version", "error"),
    [(1, Error.INVALID_PRODUCER_EPOCH), (2, Error.PRODUCER_FENCED), (5, Error.PRODUCER_FENCED)],
)
def test_add_partitions_to_txn_reports_fencing_with_the_error_of_its_version(
    asker: Asker, version: int, error: Error
) -> None:
    asker.init()
    assert asker.add(version, 4, topic()) == {("t", 0): error}


@pytest.mark.parametrize("version", [0, 3, 4, 5])
@pytest.mark.parametrize("unknown", [topic("unknown"), topic("t", 2), topic("t", -1)])
def test_add_partitions_to_txn_with_an_unknown_partition_adds_no_partition(
    asker: Asker, version: int, unknown: AddPartitionsToTxnTopic
) -> None:
    asker.init()
    results = asker.add(version, 0, topic("t", 0), unknown)
    assert results.pop(("t", 0)) is Error.OPERATION_NOT_ATTEMPTED
    assert list(results.values()) == [Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert end(asker, 4, 0).error_code == Error.INVALID_TXN_STATE


def test_a_request_with_verify_only_adds_no_partition(asker: Asker) -> None:
    asker.init()
    asker.add(3, 0, topic("t", 0))
    verdicts = asker.add(5, 0, topic("t", 0, 1), verify=True)
    assert verdicts == {("t", 0): Error.NONE, ("t", 1): Error.TRANSACTION_ABORTABLE}
    assert asker.add(5, 0, topic("t", 1), verify=True) == {("t", 1): Error.TRANSACTION_ABORTABLE}


def test_each_transaction_of_a_batched_request_is_answered(asker: Asker) -> None:
    asker.init()
    transactions = [
        AddPartitionsToTxnTransaction("id", 1000, 0, False, [topic()]),
        AddPartitionsToTxnTransaction("nobody", 1000, 0, False, [topic()]),
    ]
    response = asker.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 4, AddPartitionsToTxnRequest(transactions))
    assert [
        (result.transactional_id, result.topic_results[0].results_by_partition[0].partition_error_code)
        for result in response.results_by_transaction
    ] == [("id", Error.NONE), ("nobody", Error.INVALID_PRODUCER_ID_MAPPING)]


@pytest.mark.parametrize(("version", "epoch"), [(3, 0), (4, 1)])
def test_the_epoch_of_a_marker_depends_on_the_request_version_that_added_the_partition(
    asker: Asker, version: int, epoch: int
) -> None:
    """Kafka records the transaction version with which a partition was added; EndTxn's own version decides the end."""
    asker.init()
    asker.add(version, 0, topic())
    assert end(asker, 5 if version == 4 else 4, 0).error_code == 0
    assert asker.host.markers[0].producer == (1000, epoch)


@pytest.mark.parametrize("version", range(5))
def test_add_offsets_to_txn_adds_the_partition_of_the_group(asker: Asker, version: int) -> None:
    asker.init()
    request = AddOffsetsToTxnRequest("id", 1000, 0, "group")
    assert asker.ask(ApiKey.ADD_OFFSETS_TO_TXN, version, request).error_code == 0
    end(asker, 4, 0)
    assert asker.host.markers[0].partitions == (GROUP_PARTITION,)


@pytest.mark.parametrize(("version", "error"), [(1, Error.INVALID_PRODUCER_EPOCH), (2, Error.PRODUCER_FENCED)])
def test_add_offsets_to_txn_reports_fencing_with_the_error_of_its_version(
    asker: Asker, version: int, error: Error
) -> None:
    asker.init()
    request = AddOffsetsToTxnRequest("id", 1000, 4, "group")
    assert asker.ask(ApiKey.ADD_OFFSETS_TO_TXN, version, request).error_code == error


@pytest.mark.parametrize(("version", "error"), [(1, Error.INVALID_PRODUCER_EPOCH), (2, Error.PRODUCER_FENCED)])
def test_end_txn_reports_fencing_with_the_error_of_its_version(asker: Asker, version: int, error: Error) -> None:
    asker.init()
    assert end(asker, version, 4).error_code == error


@pytest.mark.parametrize("version", range(6))
def test_end_txn_returns_the_next_epoch_from_version_5_on(asker: Asker, version: int) -> None:
    asker.init()
    asker.add(3, 0, topic())
    response = end(asker, version, 0)
    expected = (0, 1000, 1) if version == 5 else (0, -1, -1)
    assert (response.error_code, response.producer_id, response.producer_epoch) == expected


def test_the_answer_of_a_refused_end_txn_5_has_no_producer_id(asker: Asker) -> None:
    asker.init()
    response = end(asker, 5, 0)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (Error.INVALID_TXN_STATE, -1, -1)


def test_describe_transactions_returns_a_result_for_each_transactional_id(asker: Asker) -> None:
    asker.init()
    asker.add(3, 0, topic("t", 1, 0))
    request = DescribeTransactionsRequest(["id", "nobody"])
    known, unknown = asker.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, request).transaction_states
    assert (known.error_code, known.transactional_id, known.transaction_state) == (0, "id", "Ongoing")
    assert (known.producer_id, known.producer_epoch) == (1000, 0)
    assert (known.transaction_timeout_ms, known.transaction_start_time_ms) == (60_000, NOW)
    assert [(one.topic, one.partitions) for one in known.topics] == [("t", [0, 1])]
    assert (unknown.error_code, unknown.transactional_id) == (Error.TRANSACTIONAL_ID_NOT_FOUND, "nobody")
    assert (unknown.transaction_state, unknown.topics) == ("", [])


@pytest.mark.parametrize("version", range(3))
def test_list_transactions_reports_unknown_states_and_lists_transactions_in_the_other_states(
    asker: Asker, version: int
) -> None:
    asker.init()
    response = asker.ask(ApiKey.LIST_TRANSACTIONS, version, ListTransactionsRequest(["Empty", "Lost"]))
    assert (response.error_code, response.unknown_state_filters) == (0, ["Lost"])
    listed = [(one.transactional_id, one.producer_id, one.transaction_state) for one in response.transaction_states]
    assert listed == [("id", 1000, "Empty")]


def test_list_transactions_filters_by_duration_and_pattern(asker: Asker) -> None:
    asker.init()
    asker.add(3, 0, topic())
    assert not asker.ask(ApiKey.LIST_TRANSACTIONS, 1, ListTransactionsRequest(duration_filter=0)).transaction_states
    matching = ListTransactionsRequest(transactional_id_pattern="i.")
    assert len(asker.ask(ApiKey.LIST_TRANSACTIONS, 2, matching).transaction_states) == 1
    wrong = ListTransactionsRequest(transactional_id_pattern="(")
    assert asker.ask(ApiKey.LIST_TRANSACTIONS, 2, wrong).error_code == Error.INVALID_REGULAR_EXPRESSION
