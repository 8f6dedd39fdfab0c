"""Transactional and idempotent producers as raw clients: each call sends one request and returns the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oncelog.apps.conformance.expect import among, eventually, same
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch
from oncelog.apps.conformance.raw.bodies import Produced
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.errors import Error
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from oncelog.protocol.struct_fields import ZERO_UUID

LOADING = {Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR}
CONCURRENT_TRANSACTIONS = Error.CONCURRENT_TRANSACTIONS
UNREPORTED = ""
"""The state of a transaction if the broker does not offer DescribeTransactions."""
NOT_ENOUGH_REPLICAS = Error.NOT_ENOUGH_REPLICAS
VERIFIED = "3.6"
"""The release of Apache Kafka that first verified the batches of transactions with their coordinator (KIP-890)."""
PUT_OFF = {*LOADING, CONCURRENT_TRANSACTIONS, NOT_ENOUGH_REPLICAS}
"""Errors after which a client sends the same request again."""


def find_coordinator(connection: RawConnection, key: str, kind: int) -> None:
    """Wait until the coordinator of a key is found and serves requests; the first request has the broker create the
    coordinator's internal topic."""

    def found() -> bool:
        version = connection.best(FindCoordinatorRequest.API_KEY, 2)
        answer = connection.ask(FindCoordinatorRequest(key=key, key_type=kind), version)
        return bool(answer.error_code == 0)

    def serves() -> bool:
        describes = DescribeGroupsRequest if kind == 0 else DescribeTransactionsRequest
        if not connection.offers(describes.API_KEY, 0):
            return True
        if kind == 0:
            code = connection.ask(DescribeGroupsRequest(groups=[key]), 0).groups[0].error_code
        else:
            request = DescribeTransactionsRequest(transactional_ids=[key])
            code = connection.ask(request, 0).transaction_states[0].error_code
        return code not in LOADING

    eventually(found)
    eventually(serves)


def init(
    connection: RawConnection,
    transactional_id: str | None,
    *,
    version: int | None = None,
    timeout_ms: int = 60_000,
    pid: int = -1,
    epoch: int = -1,
) -> Any:
    """Send InitProducerId, repeated while the coordinator is being set up."""
    version = connection.best(InitProducerIdRequest.API_KEY, 4) if version is None else version
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)
    if version >= 3:
        request.producer_id, request.producer_epoch = pid, epoch
    answer = connection.ask_until(request, version, lambda answer: answer.error_code not in LOADING)
    if connection.world is not None and answer.error_code == Error.NONE:
        connection.world.producer_ids.add(answer.producer_id)
    return answer


def new_pid(connection: RawConnection) -> int:
    """A producer id for an idempotent producer."""
    answer = init(connection, None)
    same((answer.error_code, answer.producer_epoch), (Error.NONE, 0))
    pid: int = answer.producer_id
    return pid


class RawTransactionalProducer:
    """One transactional producer; ``version_2`` uses transaction version 2 (KIP-890): Produce 12 and EndTxn 5."""

    def __init__(
        self,
        connection: RawConnection,
        transactional_id: str,
        *,
        version_2: bool = False,
        timeout_ms: int = 60_000,
    ) -> None:
        self.connection = connection
        self.id = transactional_id
        self.version_2 = version_2
        self.timeout_ms = timeout_ms
        self.pid = self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}
        self._ended: EndTxnRequest | None = None

    def init(self) -> RawTransactionalProducer:
        """Get a producer id and epoch; InitProducerId is repeated while the coordinator aborts an open transaction of
        the id.

        :raises NotOffered: transaction version 2 is wanted, and the cluster has not finalized it.
        """
        if self.version_2:
            self.connection.needs_feature("transaction.version", 2)
        find_coordinator(self.connection, self.id, 1)

        def probe() -> Any:
            answer = init(self.connection, self.id, timeout_ms=self.timeout_ms)
            return None if answer.error_code == CONCURRENT_TRANSACTIONS else answer

        answer = eventually(probe)
        same(answer.error_code, Error.NONE)
        self.pid, self.epoch = answer.producer_id, answer.producer_epoch
        self.sequences.clear()
        return self

    def add_once(self, *partitions: tuple[str, int], version: int | None = None) -> dict[tuple[str, int], int]:
        """Send AddPartitionsToTxn; returns the error of each partition."""
        version = self.connection.best(AddPartitionsToTxnRequest.API_KEY, 3) if version is None else version
        topics: dict[str, list[int]] = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append(index)
        answer = self.connection.ask(
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.id,
                v3_and_below_producer_id=self.pid,
                v3_and_below_producer_epoch=self.epoch,
                v3_and_below_topics=[
                    AddPartitionsToTxnTopic(name=topic, partitions=indexes) for topic, indexes in topics.items()
                ],
            ),
            version,
        )
        return {
            (topic.name, result.partition_index): result.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for result in topic.results_by_partition
        }

    def add(self, *partitions: tuple[str, int]) -> None:
        """Add partitions to the transaction as a client does: AddPartitionsToTxn is repeated while the previous
        transaction is being completed."""

        def probe() -> bool:
            errors = set(self.add_once(*partitions).values())
            for error in errors:
                among(error, (Error.NONE, Error.CONCURRENT_TRANSACTIONS))
            return errors == {0}

        eventually(probe)

    def send_once(
        self,
        topic: str,
        *values: bytes,
        partition: int = 0,
        version: int | None = None,
        sequence: int | None = None,
        epoch: int | None = None,
        acks: int = -1,
    ) -> Produced:
        """Send one Produce with the next sequence; it is repeated while the broker answers with a retriable error."""
        first = self.sequences.get((topic, partition), 0) if sequence is None else sequence
        data = batch(
            *values,
            pid=self.pid,
            epoch=self.epoch if epoch is None else epoch,
            sequence=first,
            attributes=TRANSACTIONAL,
        )
        sent_as = version if version is not None else (12 if self.version_2 else None)

        def probe() -> Produced | None:
            answer = self.connection.produce(
                topic, data, partition, version=sent_as, transactional_id=self.id, acks=acks
            )
            return None if answer.error in PUT_OFF else answer

        answer = eventually(probe)
        if answer.error == 0 and sequence is None:
            self.sequences[topic, partition] = first + len(values)
        return answer

    def send(self, topic: str, *values: bytes, partition: int = 0) -> Produced:
        """Send a Produce that must succeed; adds the partition first if the protocol requires that."""
        if not self.version_2:
            self.add((topic, partition))
        answer = self.send_once(topic, *values, partition=partition)
        same(answer.error, Error.NONE)
        return answer

    def end_once(self, *, commit: bool, version: int | None = None, epoch: int | None = None) -> Any:
        """Send one EndTxn; it is repeated while the broker answers with a retriable error."""
        if version is None:
            version = 5 if self.version_2 else self.connection.best(EndTxnRequest.API_KEY, 4)
        request = EndTxnRequest(
            transactional_id=self.id,
            producer_id=self.pid,
            producer_epoch=self.epoch if epoch is None else epoch,
            committed=commit,
        )
        answer = self.connection.ask_until(request, version, lambda answer: answer.error_code not in PUT_OFF)
        if answer.error_code == Error.NONE:
            self._ended = request
        return answer

    def end(self, *, commit: bool) -> None:
        """End the transaction, use the producer id and epoch that the answer contains (transaction version 2), and wait
        until every marker is written."""
        answer = self.end_once(commit=commit)
        same(answer.error_code, Error.NONE)
        if self.version_2:
            self.pid, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        self.completed()

    def commit(self) -> None:
        self.end(commit=True)

    def abort(self) -> None:
        self.end(commit=False)

    def describe(self) -> Any:
        (state,) = self.connection.ask_until(
            DescribeTransactionsRequest(transactional_ids=[self.id]),
            0,
            lambda answer: answer.transaction_states[0].error_code not in LOADING,
        ).transaction_states
        return state

    def state(self) -> str:
        """The state of the transaction; UNREPORTED if the broker does not report it."""
        if not self.connection.offers(DescribeTransactionsRequest.API_KEY, 0):
            return UNREPORTED
        found: str = self.describe().transaction_state
        return found

    def completed(self) -> str:
        """Wait until the transaction is neither ongoing nor being completed; returns its state.

        If the broker does not offer DescribeTransactions, the last EndTxn is repeated instead, which the broker refuses
        with CONCURRENT_TRANSACTIONS until every marker is written, and UNREPORTED is returned.
        """
        if not self.connection.offers(DescribeTransactionsRequest.API_KEY, 0):
            if self._ended is not None:
                self.end_once(commit=self._ended.committed, epoch=self._ended.producer_epoch)
            return UNREPORTED

        def probe() -> str | None:
            state = self.state()
            return state if state in ("Empty", "CompleteCommit", "CompleteAbort") else None

        return eventually(probe)

    # --- offsets

    def add_offsets(self, group: str, *, version: int = 3) -> None:
        find_coordinator(self.connection, group, 0)

        def probe() -> bool:
            answer = self.connection.ask(
                AddOffsetsToTxnRequest(
                    transactional_id=self.id, producer_id=self.pid, producer_epoch=self.epoch, group_id=group
                ),
                version,
            )
            among(answer.error_code, (*LOADING, Error.NONE, Error.CONCURRENT_TRANSACTIONS))
            return bool(answer.error_code == 0)

        eventually(probe)

    def commit_offsets_once(
        self,
        group: str,
        offsets: dict[tuple[str, int], int],
        *,
        version: int = 3,
        generation: int = -1,
        member: str = "",
        instance: str | None = None,
        metadata: str = "",
        ids: Mapping[str, bytes] | None = None,
    ) -> list[int]:
        """Send TxnOffsetCommit, repeated while the broker answers with a retriable error; returns the error of each
        partition.

        :param ids: topic ids, for versions that identify topics by id; None: ask the broker for them.
        """
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            topics.setdefault(topic, []).append(
                TxnOffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offset, committed_metadata=metadata
                )
            )
        known = ids or {name: self.connection.topic_id(name) if version >= 6 else ZERO_UUID for name in topics}
        request = TxnOffsetCommitRequest(
            transactional_id=self.id,
            group_id=group,
            producer_id=self.pid,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name, known[name], partitions=parts) for name, parts in topics.items()],
        )
        if version >= 3:
            request.generation_id_or_member_epoch, request.member_id, request.group_instance_id = (
                generation,
                member,
                instance,
            )

        def probe() -> list[int] | None:
            answer = self.connection.ask(request, version)
            errors = [part.error_code for topic in answer.topics for part in topic.partitions]
            return None if PUT_OFF & {*errors} else errors

        return eventually(probe)

    def take_back_offsets(self, group: str) -> None:
        """Abort offsets that the broker has accepted outside a transaction, as Apache Kafka 3.6 does.

        No coordinator knows that the partition contains them, so they would stay pending forever, and the partition's
        last stable offset would not advance.
        """
        self.add_offsets(group)
        self.abort()

    def send_offsets(self, group: str, offsets: dict[tuple[str, int], int], **member: Any) -> None:
        """Commit offsets in the transaction as a client does: AddOffsetsToTxn first, unless transaction version 2 is
        used, then TxnOffsetCommit."""
        if not self.version_2:
            self.add_offsets(group)
        version = 5 if self.version_2 else 3
        find_coordinator(self.connection, group, 0)
        same(set(self.commit_offsets_once(group, offsets, version=version, **member)), {0})


def states(producers: Sequence[RawTransactionalProducer]) -> list[str]:
    return [producer.describe().transaction_state for producer in producers]
