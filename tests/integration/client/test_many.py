"""Batch interfaces: columns and Arrow in and out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import oncelog
from oncelog.aiokafka import AIOKafkaProducer
from oncelog.client.aio import Consumer, Producer
from oncelog.client.aio.consumer import record_reader
from oncelog.client.aio.consumer.record_reader import columns_of
from oncelog.client.aio.producer import sending_arrow
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.consumer.completed_fetch import Chunk
from oncelog.client.core.structs import Columns
from oncelog.client.errors import IllegalStateError, KafkaError, RecordTooLargeError, UnknownTopicOrPartitionError
from oncelog.errors import Error
from oncelog.records.arrow import encode_from_arrow
from oncelog.records.batch import decode_records
from oncelog.records.partitioner import partition_for_key
from oncelog.records.record_errors import CorruptBatch
from oncelog.types import TopicPartition
from tests.integration.client.proxy import KafkaProxy
from tests.integration.client.reading import make_topic, on_loop, read_back, values

WITHOUT_ACKS: Any = {
    "acks": 0,
    "enable_idempotence": False,
    "max_batch_size": 500_000,
    "buffer_memory": 2_000_000,
    "retry_backoff_ms": 20,
    "reconnect_backoff_ms": 20,
}


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with oncelog.Broker() as broker:
        yield broker.bootstrap_servers


@pytest.mark.parametrize("compression", ["none", "lz4"])
@on_loop
async def test_columns_arrive_unchanged_and_the_offsets_of_each_batch_are_reported(
    servers: str, unique_name: str, compression: str
) -> None:
    await make_topic(servers, unique_name, 3)
    values = [b"%05d" % n if n % 7 else None for n in range(5000)]
    keys = [b"k%d" % (n % 50) if n % 3 else None for n in range(5000)]
    headers: list[Any] = [[("h", b"%d" % n)] if n % 5 == 0 else None for n in range(5000)]
    timestamps = [1000 + n for n in range(5000)]
    async with Producer(bootstrap_servers=servers, compression_type=compression, max_batch_size=4000) as producer:
        reported = await (await producer.send_many(unique_name, values, keys, timestamp_ms=timestamps, headers=headers))
    assert sum(item.records for item in reported) == 5000
    seen = await asyncio.to_thread(read_back, servers, unique_name, 3)
    expected = sorted(map(repr, zip(keys, values, [tuple(more or ()) for more in headers], strict=True)))
    assert sorted(repr((s.key, s.value, s.headers)) for s in seen) == expected
    for record in seen:
        if record.key is not None:
            assert record.partition == partition_for_key(record.key, 3)
    for run in reported:
        stored = [record for record in seen if record.partition == run.partition]
        assert any(record.offset == run.offset for record in stored)


@on_loop
async def test_columns_and_arrow_return_the_records_that_iteration_returns(servers: str, unique_name: str) -> None:
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
async def test_arrow_rows_go_to_partitions_by_key_or_partition_column(
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
        reported = await (await producer.send_arrow(unique_name, table))
        reported += await (await producer.send_arrow(unique_name, placed))
        if settings.get("transactional_id"):
            await producer.commit_transaction()
    assert sum(item.records for item in reported) == 6
    seen = await asyncio.to_thread(read_back, servers, unique_name, 4)
    assert {s.value for s in seen} == {b"1", None, b"3", b"4", b"p0", b"p3"}
    assert {s.partition for s in seen if s.value in (b"1", b"4")} == {partition_for_key(b"a", 4)}
    assert {(s.partition, s.value) for s in seen if s.value in (b"p0", b"p3")} == {(0, b"p0"), (3, b"p3")}


@on_loop
async def test_columns_of_buffers_and_of_numpy_numbers_are_accepted(servers: str, unique_name: str) -> None:
    name = TopicPartition(await make_topic(servers, unique_name), 0)
    buffer = bytearray(b"buffer")
    async with Producer(bootstrap_servers=servers) as producer:
        timestamps = np.array([1000, 2000], np.int64)
        first = await producer.send_many(
            unique_name, [buffer, memoryview(b"view")], [None, buffer], timestamp_ms=timestamps
        )
        buffer[:] = b"reused"
        await first
        await (await producer.send_many(unique_name, [None], timestamp_ms=np.int32(3000)))
    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([name])
        found = [await consumer.getone() for _ in range(3)]
    reported = [(record.key, record.value, record.timestamp) for record in found]
    assert reported == [(None, b"buffer", 1000), (b"buffer", b"view", 2000), (None, None, 3000)]


@on_loop
async def test_wrong_columns_are_refused_and_nothing_is_sent(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name)
    async with Producer(bootstrap_servers=servers) as producer:
        bad: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
            ((b"text",), {}, "send_many takes a list of values"),
            (([b"a", "b"],), {}, "each value must be bytes or None, not str"),
            (([b"a"], ["k"]), {}, "each key must be bytes or None, not str"),
            (([b"a"], [b"k", b"l"]), {}, "keys has 2 rows, values has 1"),
            (([b"a"],), {"timestamp_ms": [1.5]}, "each timestamp_ms must be int, not float"),
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


def test_a_read_of_one_partition_leaves_records_fetched_for_another(servers: str, unique_name: str) -> None:
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
async def test_a_partition_that_cannot_be_read_does_not_lose_records_of_the_others(
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

        with patch.object(record_reader, "columns_of", refuses_one):
            with pytest.raises(KafkaError, match=f"{unique_name}.* cannot be read from offset 0 on: the batch is dam"):
                await read()
            await read(zero)
        assert offsets == list(range(10))
        found = (await consumer.getmany_columns(one, timeout_ms=30_000))[one]
        assert found.offsets == list(range(10))


@on_loop
async def test_rows_of_a_split_batch_are_reported_with_the_offsets_of_each_part(servers: str, unique_name: str) -> None:
    name = await make_topic(servers, unique_name, max_message_bytes="1000")
    values = [b"%0300d" % n for n in range(8)]
    async with Producer(bootstrap_servers=servers) as producer:
        reported = await (await producer.send_many(name, values))
        batch = producer.create_batch()
        for value in values:
            batch.append(value=value)
        first = await (await producer.send_batch(batch, name, partition=0))
    assert [(run.offset, run.records) for run in reported] == [(0, 2), (2, 2), (4, 2), (6, 2)]
    assert first.offset == 8
    assert [record.value for record in await asyncio.to_thread(read_back, servers, name, 1)] == values * 2


@on_loop
async def test_a_refused_part_of_a_batch_is_not_reported_as_stored(servers: str, unique_name: str) -> None:
    name = await make_topic(servers, unique_name, max_message_bytes="1000")
    values = [b"small", b"x" * 2000]
    async with Producer(bootstrap_servers=servers) as producer:
        with pytest.raises(RecordTooLargeError):
            await (await producer.send_many(name, values))
        batch = producer.create_batch()
        for value in values:
            batch.append(value=value)
        with pytest.raises(RecordTooLargeError):
            await (await producer.send_batch(batch, name, partition=0))


@pytest.mark.parametrize("producer_class", [Producer, AIOKafkaProducer])
@on_loop
async def test_without_acknowledgements_batches_are_reported_at_once(
    servers: str, unique_name: str, producer_class: type[Producer]
) -> None:
    name = await make_topic(servers, unique_name)
    async with producer_class(bootstrap_servers=servers, acks=0, enable_idempotence=False) as producer:
        reported = await (await producer.send_many(name, [b"x" * 1000] * 200))
        assert sum(run.records for run in reported) == 200
        assert {run.offset for run in reported} == {-1}
        for _ in range(10):
            batch = producer.create_batch()
            while batch.append(value=b"x" * 1000) is not None:
                pass
            await (await producer.send_batch(batch, name, partition=0))


@on_loop
async def test_without_acknowledgements_records_use_buffer_memory_until_they_are_sent(
    servers: str, unique_name: str
) -> None:
    """The records were reported as sent while the client still held them: memory was unbounded, and a stop lost
    them.
    """
    name = TopicPartition(await make_topic(servers, unique_name), 0)
    rows = [b"x" * 10_000] * 3_000
    async with KafkaProxy(servers) as proxy, Consumer(bootstrap_servers=servers) as consumer:
        async with Producer(bootstrap_servers=proxy.bootstrap_servers, **WITHOUT_ACKS) as producer:
            await producer.send_and_wait(name.topic, b"x")
            proxy.reading.clear()
            sending = asyncio.create_task(producer.send_many(name.topic, rows))
            while not (sending.done() or producer._appender._space_waiters):
                await asyncio.sleep(0.01)
            assert not sending.done()
            proxy.reading.set()
            reported = await sending
        assert sum(run.records for run in await reported) == len(rows)
        async with asyncio.timeout(60):
            while (await consumer.end_offsets([name]))[name] < len(rows) + 1:
                await asyncio.sleep(0.05)


@on_loop
async def test_without_acknowledgements_unsent_records_go_over_the_next_connection(
    servers: str, unique_name: str
) -> None:
    name = await make_topic(servers, unique_name)
    async with (
        KafkaProxy(servers) as proxy,
        Producer(bootstrap_servers=proxy.bootstrap_servers, **WITHOUT_ACKS) as producer,
    ):
        await producer.send_and_wait(name, b"x")
        proxy.reading.clear()
        sending = asyncio.create_task(producer.send_many(name, [b"%d" % row + b"x" * 10_000 for row in range(1500)]))
        while not producer._appender._space_waiters:
            await asyncio.sleep(0.01)
        untaken: set[bytes | None] = set()
        for connection in list(producer._network._connections.values()):
            for request in connection._unwritten:
                (data,) = request.message.topic_data[0].partition_data  # type: ignore[union-attr]
                untaken.update(record.value for record in decode_records(bytes(data.records), 0))
            connection.give_up(Error.NETWORK_EXCEPTION, "cut")
        proxy.reading.set()
        assert sum(run.records for run in await (await sending)) == 1500
    assert untaken
    assert untaken <= set(values(servers, name))


@on_loop
async def test_a_table_is_encoded_batch_by_batch_as_memory_allows(servers: str, unique_name: str) -> None:
    """The table is not encoded as a whole before the first batch is sent, so the loop can work and memory is
    bounded.
    """
    name = await make_topic(servers, unique_name, 2)
    keys, values = [b"k%d" % (n % 7) for n in range(150_000)], [b"%d" % n for n in range(150_000)]
    table = pa.table({"key": keys, "value": values})
    pieces = [table.slice(at, 40_000) for at in range(0, 150_000, 40_000)]
    yielded = most = turns = 0

    async with Producer(bootstrap_servers=servers, linger_ms=60_000, max_batch_size=100_000) as producer:
        incomplete = producer._accumulator.incomplete

        def counted(*args: Any, **settings: Any) -> Iterator[Any]:
            nonlocal yielded, most
            for batch in encode_from_arrow(*args, **settings):
                yielded += batch.records_count
                most = max(most, yielded - sum(batch.count for batch in incomplete))
                yield batch

        async def count_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        with (
            patch.object(sending_arrow, "encode_from_arrow", counted),
            patch.object(producer._sender, "poll", lambda now_ms: None),  # all that is queued stays
        ):
            counting = asyncio.create_task(count_turns())
            reported = await producer.send_arrow(name, pa.concat_tables(pieces))
            counting.cancel()
        await producer.flush()
        assert sum(run.records for run in await reported) == 150_000
    assert yielded == 150_000
    assert 0 < most < 20_000
    assert turns > 10
    seen = await asyncio.to_thread(read_back, servers, name, 2)
    for key in set(keys):
        assert [s.value for s in seen if s.key == key] == [v for k, v in zip(keys, values, strict=True) if k == key]


@on_loop
async def test_a_table_of_many_chunks_is_copied_in_slices_of_limited_size(
    servers: str, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is on the bytes copied at once, not only on rows: 2 GiB would not even fit into a column."""
    name = await make_topic(servers, unique_name, 2)
    values = [b"%d" % n * 100 for n in range(1000)]
    chunks = [values[at : at + 7] for at in range(0, 1000, 7)]
    table = pa.table(
        {"key": pa.chunked_array([[b"k"] * len(chunk) for chunk in chunks]), "value": pa.chunked_array(chunks)}
    )
    monkeypatch.setattr(sending_arrow, "SLICE_BYTES", 10_000)
    largest: list[int] = []

    def measured(value: pa.Array, *args: Any, **settings: Any) -> Iterator[Any]:
        largest.append(value.nbytes)
        return encode_from_arrow(value, *args, **settings)

    monkeypatch.setattr(sending_arrow, "encode_from_arrow", measured)
    async with Producer(bootstrap_servers=servers) as producer:
        await (await producer.send_arrow(name, table))
    assert max(largest) <= 10_000
    assert [s.value for s in await asyncio.to_thread(read_back, servers, name, 2)] == values


@pytest.mark.parametrize("arrow", [False, True])
@on_loop
async def test_a_custom_partitioner_is_called_for_each_key(servers: str, unique_name: str, arrow: bool) -> None:
    await make_topic(servers, unique_name, 3)
    values, keys = [b"%d" % n for n in range(300)], [b"%d" % (n % 30) if n % 10 else None for n in range(300)]

    def choose(key: bytes | None, every: list[int], there: list[int]) -> int:
        return 0 if key is None else int(key) % len(every)

    table = pa.table({"key": keys, "value": values})
    async with Producer(bootstrap_servers=servers, partitioner=choose) as producer:
        if arrow:
            await (await producer.send_arrow(unique_name, table))
        else:
            await (await producer.send_many(unique_name, values, keys))
    seen = await asyncio.to_thread(read_back, servers, unique_name, 3)
    assert {s.value: s.partition for s in seen} == {
        value: choose(key, [0, 1, 2], []) for key, value in zip(keys, values, strict=True)
    }
    async with Producer(bootstrap_servers=servers, partitioner=lambda key, every, there: -1) as producer:
        sent = producer.send_arrow(unique_name, table) if arrow else producer.send_many(unique_name, values, keys)
        with pytest.raises(UnknownTopicOrPartitionError, match="no partition -1"):
            await sent


@on_loop
async def test_a_table_with_a_bad_row_is_not_sent(servers: str, unique_name: str) -> None:
    name = await make_topic(servers, unique_name, 2)
    good = [b"v"] * 70_000
    some = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = pa.array([None] * 70_000 + [[{"key": None, "value": b"x"}]], some)
    async with Producer(bootstrap_servers=servers) as producer:
        with pytest.raises(RecordTooLargeError):
            await producer.send_arrow(name, pa.table({"value": [*good, b"x" * 2_000_000]}))
        with pytest.raises(ValueError, match="a header needs a key"):
            await producer.send_arrow(name, pa.table({"value": [*good, b"v"], "headers": headers}))
        with pytest.raises(UnknownTopicOrPartitionError):
            await producer.send_arrow(name, pa.table({"value": [*good, b"v"], "partition": [0] * 70_000 + [2]}))
        with pytest.raises(TypeError, match="each row needs a partition"):
            await producer.send_arrow(name, pa.table({"value": [*good, b"v"], "partition": [0] * 70_000 + [None]}))
    assert await asyncio.to_thread(read_back, servers, name, 2) == []


@on_loop
async def test_rows_of_a_table_without_keys_fill_batches_of_partitions_in_turn(servers: str, unique_name: str) -> None:
    name = await make_topic(servers, unique_name, 4)
    async with Producer(bootstrap_servers=servers) as producer:
        reported = await (await producer.send_arrow(name, pa.table({"value": [b"x" * 1000] * 1000})))
    assert {run.partition for run in reported} == {0, 1, 2, 3}
