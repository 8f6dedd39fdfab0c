"""Checks 28 and 38: where a coordinator keeps its state, on brokers whose internal topic has 50 partitions on one
node.
"""

from __future__ import annotations

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.group_members import commit
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, find_coordinator
from oncelog.apps.conformance.raw.wire import RawConnection


@pytest.fixture
def producer(connection: RawConnection, unique_name: str) -> RawTransactionalProducer:
    """A producer of transaction version 1, initialised."""
    return RawTransactionalProducer(connection, unique_name).init()


def java_hash(text: str) -> int:
    value = 0
    for unit in text:
        value = (31 * value + ord(unit)) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def written(connection: RawConnection, partition: int, since: int, transactional_id: str) -> int:
    """How many records of the id are in a partition of ``__transaction_state`` from an offset on."""
    batches = connection.fetch("__transaction_state", since, partition).batches
    keys = [record.key or b"" for batch in batches for record in batch.records()]
    return sum(key.endswith(transactional_id.encode()) for key in keys)


@pytest.mark.parametrize("name", ["polygenelubricants", "abc", "a-transactional-id-of-some-length"])
def test_check_28_a_transactional_id_is_stored_in_the_partition_of_its_java_hash(
    connection: RawConnection, name: str
) -> None:
    value = java_hash(name)
    index = (0 if value == -(2**31) else abs(value)) % 50
    if name == "polygenelubricants":
        assert (value, index) == (-(2**31), 0)
    find_coordinator(connection, name, 1)
    eventually(lambda: connection.list_offset("__transaction_state", partition=index).error_code == 0)
    before = connection.list_offset("__transaction_state", partition=index).offset
    RawTransactionalProducer(connection, name).init()
    assert written(connection, index, before, name) == 1


def test_check_38_adding_a_partition_again_writes_nothing(producer: RawTransactionalProducer, topic: str) -> None:
    partition = abs(java_hash(producer.id)) % 50
    producer.add((topic, 0))
    before = producer.connection.list_offset("__transaction_state", partition=partition).offset
    for _ in range(3):
        assert producer.add_once((topic, 0)) == {(topic, 0): 0}
    assert written(producer.connection, partition, before, producer.id) == 0
    producer.abort()
    assert written(producer.connection, partition, before, producer.id) >= 1


@pytest.mark.parametrize("version", range(5))
def test_add_offsets_to_txn_adds_the_groups_partition(
    producer: RawTransactionalProducer, unique_name: str, version: int
) -> None:
    producer.add_offsets(unique_name, version=version)
    state = producer.describe()
    index = abs(java_hash(unique_name)) % 50
    assert [(added.topic, added.partitions) for added in state.topics] == [("__consumer_offsets", [index])]
    producer.abort()


def test_offsets_of_a_group_with_an_empty_name_are_committed(connection: RawConnection, topic: str) -> None:
    """Not in the kit: the group's name is empty."""
    find_coordinator(connection, "", 0)
    assert commit(connection, "", {(topic, 0): 1}) == [0]
