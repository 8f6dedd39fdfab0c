"""Batches of many partitions in lanes: each partition's in order and one at a time, and nothing in flight at the
end.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

from oncelog.client.aio.transactions.batch_transaction import ReadyBatch
from oncelog.client.background import background
from oncelog.errors import Error, KafkaError
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.kafka.lanes import LANES, SMALL_BYTES, WINDOW, WINDOW_BYTES, send_in_lanes
from oncelog.types import TopicPartition

Request = tuple[int, Mapping[TopicPartition, ReadyBatch]]


def batch(partition: int, number: int) -> PartitionBatch:
    return PartitionBatch("t", partition, 1, b"%d" % number)


def large_batches() -> list[PartitionBatch]:
    """One for each lane, together more than what goes in one."""
    return [PartitionBatch("t", number, 1, bytes(SMALL_BYTES)) for number in range(LANES)]


@pytest.mark.parametrize("partitions", [1, 2, 7])
@pytest.mark.parametrize("seed", range(5))
def test_each_partition_keeps_its_order_with_one_batch_in_progress_at_a_time(partitions: int, seed: int) -> None:
    chance = random.Random(seed)
    sent = [batch(chance.randrange(partitions), number) for number in range(300)]
    taken: dict[int, list[bytes]] = {}
    lock, under_way, pulled = threading.Lock(), set[TopicPartition](), 0

    def source() -> Iterator[PartitionBatch]:
        nonlocal pulled
        for item in sent:
            pulled += 1
            yield item

    def acknowledge(batches: Mapping[TopicPartition, ReadyBatch]) -> None:
        with lock:
            for name, item in batches.items():
                taken.setdefault(name.partition, []).append(bytes(item.data))
            under_way.difference_update(batches)

    with ThreadPoolExecutor(LANES) as broker:

        def submit(lane: int, batches: Mapping[TopicPartition, ReadyBatch]) -> Future[object]:
            with lock:
                assert not under_way & set(batches)
                under_way.update(batches)
                assert pulled - sum(map(len, taken.values())) <= WINDOW + partitions
            return broker.submit(acknowledge, batches)

        send_in_lanes(source(), submit)
    wanted: dict[int, list[bytes]] = {}
    for item in sent:
        wanted.setdefault(item.partition, []).append(bytes(item.data))
    assert taken == wanted


def test_lanes_send_their_requests_concurrently() -> None:
    both = threading.Barrier(LANES)
    with ThreadPoolExecutor(LANES) as broker:
        send_in_lanes(large_batches(), lambda lane, batches: broker.submit(both.wait, 60))


@pytest.mark.parametrize(("size_bytes", "requests"), [(SMALL_BYTES // 7, 1), (SMALL_BYTES // 7 + 1, LANES)])
def test_batches_of_a_few_bytes_are_sent_in_one_request(size_bytes: int, requests: int) -> None:
    """Apache Kafka adds new partitions to a transaction for one request at a time."""
    sent: list[list[int]] = []

    def submit(lane: int, batches: Mapping[TopicPartition, ReadyBatch]) -> Future[object]:
        sent.append([partition.partition for partition in batches])
        done = Future[object]()
        done.set_result(None)
        return done

    send_in_lanes([PartitionBatch("t", number, 1, bytes(size_bytes)) for number in range(7)], submit)
    assert len(sent) == requests
    assert sorted(partition for request in sent for partition in request) == list(range(7))


@pytest.mark.parametrize("by_source", [False, True])
def test_a_failure_is_raised_after_all_requests_have_ended(by_source: bool) -> None:
    """A caller that aborts then is not overtaken by a late batch."""
    requests: list[tuple[Request, Future[object]]] = []
    begun, raised = threading.Event(), []
    fenced = KafkaError(Error.INVALID_PRODUCER_EPOCH, "fenced")

    def source() -> Iterator[PartitionBatch]:
        yield from (batch(n % LANES, n) for n in range(WINDOW))
        if by_source:
            raise fenced

    def submit(lane: int, batches: Mapping[TopicPartition, ReadyBatch]) -> Future[object]:
        requests.append(((lane, batches), Future()))
        if len(requests) == LANES:
            begun.set()
        return requests[-1][1]

    def run() -> None:
        try:
            send_in_lanes(source(), submit)
        except KafkaError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(60)
    if by_source:
        requests[0][1].set_result(None)
    else:
        requests[0][1].set_exception(fenced)
    thread.join(0.2)
    assert thread.is_alive(), "the other lane has a batch under way"
    while thread.is_alive():
        for _, future in requests[1:]:
            if not future.done():
                future.set_result(None)
        thread.join(0.01)
    assert raised == [fenced]
    assert all(future.done() for _, future in requests)


@pytest.mark.parametrize("fenced_lane", range(LANES))
@pytest.mark.parametrize("other", [Error.REQUEST_TIMED_OUT, Error.INVALID_TXN_STATE])
def test_a_permanent_failure_is_raised_before_a_transient_one(fenced_lane: int, other: Error) -> None:
    """If a fenced writer reports only its timeout, it is started again, and fences its successor."""
    errors = {lane: KafkaError(other) for lane in range(LANES)} | {fenced_lane: KafkaError(Error.PRODUCER_FENCED)}

    def submit(lane: int, batches: Mapping[TopicPartition, ReadyBatch]) -> Future[object]:
        refused = Future[object]()
        refused.set_exception(errors[lane])
        return refused

    with pytest.raises(KafkaError) as raised:
        send_in_lanes(large_batches(), submit)
    assert raised.value.error is Error.PRODUCER_FENCED


@pytest.mark.parametrize("size_bytes", [1 << 20, 16 << 20])
def test_a_stalled_lane_buffers_no_more_than_its_window(size_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch in ten belongs to its partition, and each keeps alive the chunk that it came in."""
    data, lanes, unsent, most = bytes(size_bytes), dict[Future[object], int](), dict[int, None](), 0

    def source() -> Iterator[PartitionBatch]:
        nonlocal most
        for number in range(500):
            unsent[number] = None
            most = max(most, 1 + number - min(unsent))
            yield PartitionBatch("t", 0 if number % 10 == 0 else 1, number, data)

    def submit(lane: int, batches: Mapping[TopicPartition, ReadyBatch]) -> Future[object]:
        for item in batches.values():
            del unsent[item.records]
        future = Future[object]()
        lanes[future] = lane
        return future

    def first_lane_last(under_way: Mapping[Future[object], int], **how: Any) -> Any:
        for future in sorted(under_way, key=lanes.__getitem__)[-1:]:
            future.set_result(None)
        return wait(under_way, **how)

    monkeypatch.setattr("oncelog.spark.kafka.lanes.wait", first_lane_last)
    send_in_lanes(source(), submit)
    assert not unsent
    assert most * size_bytes <= WINDOW_BYTES + size_bytes


@pytest.mark.parametrize("how", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_does_not_wait_for_an_unreachable_broker(how: type[BaseException]) -> None:
    under_way: list[Future[object]] = []

    async def never() -> None:
        await asyncio.Event().wait()

    def submit(lane: int, batches: Mapping[TopicPartition, ReadyBatch]) -> Future[object]:
        if under_way:
            raise how
        under_way.append(background().submit(never()))
        return under_way[0]

    with pytest.raises(how):
        send_in_lanes(large_batches(), submit)
    assert under_way[0].cancelled()
