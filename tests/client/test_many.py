"""Batch interfaces: columns and Arrow in and out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import oncelog
from oncelog.client.aio import Consumer, Producer, reading
from oncelog.client.aio.reading import columns_of
from oncelog.client.core.admin_types import NewTopic
from oncelog.client.core.fetched import Chunk
from oncelog.client.core.structs import Columns
from oncelog.client.errors import IllegalStateError, KafkaError, RecordTooLargeError, UnknownTopicOrPartitionError
from oncelog.records.errors import CorruptBatch
from oncelog.records.partitioner import partition_for_key
from oncelog.types import TopicPartition
from tests.client.reading import make_topic, on_loop, read_back


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with oncelog.Broker() as broker:
        yield broker.bootstrap_servers


@pytest.mark.parametrize("compression", ["none", "lz4"])
@on_loop
async def test_columns_arrive_as_they_were_sent_and_each_run_is_told(
    servers: str, unique_name: str, compression: str
) -> None:
    await make_topic(servers, unique_name, 3)
    values = [b"%05d" % n if n % 7 else None for n in range(5000)]
    keys = [b"k%d" % (n % 50) if n % 3 else None for n in range(5000)]
    headers: list[Any] = [[("h", b"%d" % n)] if n % 5 == 0 else None for n in range(5000)]
    stamps = [1000 + n for n in range(5000)]
    async with Producer(bootstrap_servers=servers, compression_type=compression, max_batch_size=4000) as producer:
        told = await (await producer.send_many(unique_name, values, keys, timestamp_ms=stamps, headers=headers))
    assert sum(item.records for item in told) == 5000
    seen = await asyncio.to_thread(read_back, servers, unique_name, 3)
    expected = sorted(map(repr, zip(keys, values, [tuple(more or ()) for more in headers], strict=True)))
    assert sorted(repr((s.key, s.value, s.headers)) for s in seen) == expected
    for record in seen:
        if record.key is not None:
            assert record.partition == partition_for_key(record.key, 3)
    for run in told:
        stored = [record for record in seen if record.partition == run.partition]
        assert any(record.offset == run.offset for record in stored)


@on_loop
async def test_columns_and_arrow_read_what_one_by_one_reads(servers: str, unique_name: str) -> None:
    name = TopicPartition(await make_topic(servers, unique_name), 0)
    async with Producer(bootstrap_servers=servers, max_batch_size=2000) as producer:
        await (await producer.send_many(unique_name, [b"%d" % n for n in range(1000)], [b"k", None] * 500))
    settings: dict[str, Any] = {"bootstrap_servers": servers, "auto_offset_reset": "earliest"}
    async with Consumer(**settings) as consumer:
        consumer.assign([name])
        first = [await consumer.getone() for _ in range(10)]
        offsets: list[int] = []
        values: list[bytes | None] = []
        while len(offsets) < 500:
            for columns in (await consumer.getmany_columns(timeout_ms=1000)).values():
                offsets += columns.offsets
                values += columns.values
                assert len(columns.keys) == len(columns.headers) == len(columns.timestamps) == len(columns.offsets)
        assert offsets == list(range(10, 10 + len(offsets)))
        assert await consumer.position(name) == 10 + len(offsets)
        consumer.seek(name, 777)
        tables: list[pa.Table] = []
        while sum(map(len, tables)) < 223:
            tables += (await consumer.getmany_arrow(timeout_ms=1000, headers=True)).values()
        table = pa.concat_tables(tables)
        assert table["offset"].to_pylist() == list(range(777, 1000))
        assert table["value"].to_pylist() == [b"%d" % n for n in range(777, 1000)]
    assert [record.value for record in first] + values == [b"%d" % n for n in range(10 + len(values))]


@pytest.mark.parametrize("settings", [{}, {"enable_idempotence": False}, {"transactional_id": "arrow"}])
@on_loop
async def test_arrow_goes_where_keys_or_the_partition_column_say(
    servers: str, unique_name: str, settings: dict[str, Any]
) -> None:
    await make_topic(servers, unique_name, 4)
    table = pa.table({"key": [b"a", b"b", None, b"a"], "value": ["1", None, "3", "4"]})
    placed = pa.table({"value": [b"p0", b"p3"], "partition": [0, 3]})
    async with Producer(bootstrap_servers=servers, **settings) as producer:
        if settings.get("transactional_id"):
            with pytest.raises(IllegalStateError):
                await producer.send_arrow(unique_name, table)
            await producer.begin_transaction()
        told = await (await producer.send_arrow(unique_name, table))
        told += await (await producer.send_arrow(unique_name, placed))
        if settings.get("transactional_id"):
            await producer.commit_transaction()
    assert sum(item.records for item in told) == 6
    seen = await asyncio.to_thread(read_back, servers, unique_name, 4)
    assert {s.value for s in seen} == {b"1", None, b"3", b"4", b"p0", b"p3"}
    assert {s.partition for s in seen if s.value in (b"1", b"4")} == {partition_for_key(b"a", 4)}
    assert {(s.partition, s.value) for s in seen if s.value in (b"p0", b"p3")} == {(0, b"p0"), (3, b"p3")}


@on_loop
async def test_wrong_columns_are_refused_and_nothing_is_sent(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name)
    async with Producer(bootstrap_servers=servers) as producer:
        bad: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
            ((b"text",), {}, "send_many takes a list of values"),
            (([b"a", "b"],), {}, "each value must be bytes or None, not str"),
            (([b"a"], ["k"]), {}, "each key must be bytes or None, not str"),
            (([b"a"], [b"k", b"l"]), {}, "keys has 2 rows, values has 1"),
            (([b"a"],), {"timestamp_ms": [1.5]}, "timestamps must be whole numbers of ms"),
            (([b"a"],), {"headers": [[(b"n", b"")]]}, "a header's name must be str"),
        ]
        for positional, named, says in bad:
            with pytest.raises(TypeError, match=says):
                await producer.send_many(unique_name, *positional, **named)
        with pytest.raises(TypeError, match="send_arrow takes the columns value, key"):
            await producer.send_arrow(unique_name, pa.table({"text": ["a"]}))
        with pytest.raises(UnknownTopicOrPartitionError, match="has no partition 4"):
            await producer.send_arrow(unique_name, pa.table({"value": [b""], "partition": [4]}))
        with pytest.raises(UnknownTopicOrPartitionError, match="has no partition 4"):
            await producer.send_many(unique_name, [b"a"], partition=4)
        with pytest.raises(RecordTooLargeError):
            await producer.send_arrow(unique_name, pa.table({"value": [b"ok", b"x" * 2_000_000]}))
        with pytest.raises(RecordTooLargeError):
            await producer.send_many(unique_name, [b"ok", b"x" * 2_000_000])
        assert await (await producer.send_many(unique_name, [])) == []
    assert await asyncio.to_thread(read_back, servers, unique_name) == []


def test_the_blocking_clients_send_and_read_columns_and_arrow(servers: str, unique_name: str) -> None:
    with oncelog.Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1, 1)])
    name = TopicPartition(unique_name, 0)
    with oncelog.Producer(bootstrap_servers=servers) as producer:
        producer.send(unique_name, b"first")
        many = producer.send_many(unique_name, [b"%d" % n for n in range(100)], [b"k"] * 100)
        table = producer.send_arrow(unique_name, pa.table({"value": [b"x", b"y"]}))
        assert [(run.offset, run.records) for run in many.result(60)] == [(1, 100)]
        assert [(run.offset, run.records) for run in table.result(60)] == [(101, 2)]
        with pytest.raises(TypeError, match="keys has 1 rows, values has 2"):
            producer.send_many(unique_name, [b"a", b"b"], [b"k"])
    expected = [b"first", *(b"%d" % n for n in range(100)), b"x", b"y"]
    with oncelog.Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([name])
        read: list[bytes | None] = [consumer.getone().value for _ in range(5)]
        while len(read) < 103:
            for columns in consumer.getmany_columns(timeout_ms=1000).values():
                assert columns.offsets[0] == len(read)
                read += columns.values
        assert read == expected
        assert consumer.position(name) == 103
        consumer.seek_to_beginning()
        rows: list[bytes] = [next(consumer).value or b""]
        while len(rows) < 103:
            for found in consumer.getmany_arrow(name, timeout_ms=1000).values():
                rows += found.column("value").to_pylist()
        assert rows == expected


def test_what_was_fetched_for_iterating_does_not_come_with_other_partitions(servers: str, unique_name: str) -> None:
    with oncelog.Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(unique_name, 2, 1)])
    zero, one = (TopicPartition(unique_name, number) for number in range(2))
    with oncelog.Producer(bootstrap_servers=servers) as producer:
        for number in (0, 1):
            producer.send_many(unique_name, [b"%d" % number] * 10, partition=number).result(60)
    with oncelog.Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([zero, one])
        first = consumer.getone()
        other = one if first.partition == 0 else zero
        seen: list[int] = []
        while len(seen) < 10:
            found = consumer.getmany(other, timeout_ms=1000)
            assert set(found) <= {other}
            seen += [record.offset for record in found.get(other, [])]
        assert seen == list(range(10))
        assert [next(consumer).offset for _ in range(9)] == list(range(1, 10))


@on_loop
async def test_a_partition_that_cannot_be_read_does_not_take_the_others_records_along(
    servers: str, unique_name: str
) -> None:
    await make_topic(servers, unique_name, 2)
    zero, one = (TopicPartition(unique_name, number) for number in range(2))
    async with Producer(bootstrap_servers=servers) as producer:
        for number in (0, 1):
            await (await producer.send_many(unique_name, [b"%d" % number] * 10, partition=number))

    def refuses_one(chunks: list[Chunk], check_crc: bool) -> Columns:
        found = columns_of(chunks, check_crc)
        if found.values[0] == b"1":
            raise CorruptBatch("the batch is damaged")
        return found

    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([zero, one])
        offsets: list[int] = []

        async def read(*only: TopicPartition) -> None:
            while len(offsets) < 10 or not only:
                for columns in (await consumer.getmany_columns(*only, timeout_ms=1000)).values():
                    offsets.extend(columns.offsets)

        with patch.object(reading, "columns_of", refuses_one):
            with pytest.raises(KafkaError, match=f"{unique_name}.* cannot be read from offset 0 on: the batch is dam"):
                await read()
            await read(zero)
        assert offsets == list(range(10))
        found = (await consumer.getmany_columns(one, timeout_ms=30_000))[one]
        assert found.offsets == list(range(10))
