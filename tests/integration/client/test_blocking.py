"""The blocking clients: producer, consumer, threads, forks, and the end of a program."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Collection, Coroutine
from typing import Any, cast

import pytest

import oncelog
from oncelog.client.aio import ConsumerRebalanceListener
from oncelog.client.background import BackgroundLoop, background
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.errors import (
    KafkaError,
    UnknownTopicOrPartitionError,
)
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.client.reading import values


def test_records_are_produced_and_consumed(broker: RunningBroker, topic: str) -> None:
    servers = broker.bootstrap_servers
    with oncelog.Producer(bootstrap_servers=servers, linger_ms=5) as producer:
        deliveries = [producer.send(topic, b"%05d" % n, partition=0) for n in range(20_000)]
        assert [delivery.result(60).offset for delivery in deliveries[-3:]] == [19_997, 19_998, 19_999]
        reported: list[int] = []
        producer.send(topic, b"last", partition=0).add_done_callback(lambda item: reported.append(item.result().offset))
        producer.flush()
        assert reported == [20_000]
    with oncelog.Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        read = [record.value for record, _ in zip(consumer, range(20_000), strict=False)]
    assert read == [b"%05d" % n for n in range(20_000)]


def test_send_and_wait_raises_delivery_errors(broker: RunningBroker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        with pytest.raises(UnknownTopicOrPartitionError, match="no partition 9"):
            producer.send_and_wait(topic, b"v", partition=9)
        with pytest.raises(KafkaError, match=r"max\.request\.size"):
            producer.send_and_wait(topic, b"x" * 2_000_000)
        with pytest.raises(TypeError):
            producer.send_and_wait(topic, 5)
        assert producer.send_and_wait(topic, b"fine", partition=1).offset == 0


def _fail_after_sending(producer: Producer, topic: str) -> None:
    producer.send(topic, b"bad", partition=0)
    raise ZeroDivisionError


def test_transactions_commit_or_abort(broker: RunningBroker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=topic) as producer:
        with producer.transaction():
            producer.send(topic, b"good", partition=0)
        with pytest.raises(ZeroDivisionError), producer.transaction():
            _fail_after_sending(producer, topic)
        with producer.transaction():
            producer.send_offsets_to_transaction({TopicPartition(topic, 0): 3}, f"{topic}-group")
    assert values(broker.bootstrap_servers, topic, 2) == [b"good"]
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        offsets = admin.list_consumer_group_offsets(f"{topic}-group", require_stable=True)
        assert offsets[TopicPartition(topic, 0)].offset == 3


def test_many_threads_share_a_producer(broker: RunningBroker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:

        def work(partition: int) -> None:
            for n in range(3000):
                producer.send(topic, b"%d" % n, partition=partition)

        threads = [threading.Thread(target=work, args=(n % 2,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush()
    assert len(values(broker.bootstrap_servers, topic, 2)) == 12_000


def test_a_rebalance_listener_can_call_the_consumer(broker: RunningBroker, topic: str) -> None:
    servers = broker.bootstrap_servers
    with Producer(bootstrap_servers=servers) as producer:
        producer.send(topic, b"v", partition=0)
    calls: list[tuple[str, set[TopicPartition]]] = []

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
            consumer.commit()
            calls.append(("revoked", set(revoked)))

        def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
            calls.append(("assigned", set(assigned)))

    settings = {"group_id": topic, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    with Consumer(bootstrap_servers=servers, heartbeat_interval_ms=200, **settings) as consumer:
        consumer.subscribe([topic], listener=Listener())
        assert next(iter(consumer)).value == b"v"
        with Consumer(topic, bootstrap_servers=servers, heartbeat_interval_ms=200, **settings) as second:
            while not second.assignment():
                second.getmany(timeout_ms=100)
                consumer.getmany(timeout_ms=100)
            assert second.committed(TopicPartition(topic, 0)) == 1
    both = {TopicPartition(topic, 0), TopicPartition(topic, 1)}
    assert calls[:2] == [("assigned", both), ("revoked", both)]


def test_undelivered_records_are_not_committed(broker: RunningBroker, topic: str) -> None:
    servers = broker.bootstrap_servers
    with Producer(bootstrap_servers=servers) as producer:
        for n in range(100):
            producer.send(topic, b"%d" % n, partition=0)
    settings = {"bootstrap_servers": servers, "group_id": topic, "auto_offset_reset": "earliest"}
    name = TopicPartition(topic, 0)
    with Consumer(topic, **settings) as consumer:
        read = [next(consumer).value for _ in range(7)]
        assert consumer.position(name) == 7
        consumer.commit()
        assert consumer.committed(name) == 7
        consumer.seek(name, 50)
        assert next(consumer).offset == 50
        consumer.pause(name)
        assert consumer.getone(timeout_ms=200) is None
        consumer.resume(name)
        assert next(consumer).offset == 51
        batch = consumer.getmany(timeout_ms=60_000)
        assert batch[name][0].offset == 52
    assert read == [b"%d" % n for n in range(7)]


class Interrupting:
    """The clients' loop, which is interrupted at the moment its next answer arrives, before the program has received
    it.
    """

    def __init__(self, real: BackgroundLoop) -> None:
        self.real = real
        self.armed = True

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        result = self.real.run(work)
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@pytest.mark.parametrize("first", ["getone", "getmany", "getmany_columns", "getmany_arrow"])
@pytest.mark.parametrize("then", ["getone", "getmany", "seek", "partitions", "columns"])
def test_an_interrupt_loses_no_record(broker: RunningBroker, topic: str, first: str, then: str) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(topic, 0)
    with Producer(bootstrap_servers=servers) as producer:
        for n in range(10):
            producer.send(topic, b"%d" % n, partition=0)
    with Consumer(bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest") as consumer:
        consumer.assign([name])
        assert consumer.position(name) == 0
        consumer._background = cast(BackgroundLoop, Interrupting(background()))
        with pytest.raises(KeyboardInterrupt):
            getattr(consumer, first)(timeout_ms=60_000)
        assert consumer.position(name) == 0
        offsets: list[int] = []
        while len(offsets) < 10:
            if then == "seek":
                consumer.pause(TopicPartition(topic, 0))
                consumer.resume(TopicPartition(topic, 0))
            if then == "getone":
                offsets.append(next(consumer).offset)
            elif then == "columns":
                offsets += consumer.getmany_columns(timeout_ms=60_000)[name].offsets
            else:
                asked = [name] if then == "partitions" else []
                offsets += [record.offset for record in consumer.getmany(*asked, timeout_ms=60_000)[name]]
        assert offsets == list(range(10))
        assert consumer.position(name) == 10


FORGETS_TO_CLOSE = """
import gc, sys, time
from oncelog.client.blocking import Producer, unclosed
servers, topic, way = sys.argv[1:]
unclosed.AT_EXIT_SECONDS = 90  # of a busy machine
producer = Producer(bootstrap_servers=servers, linger_ms=100_000)
sent = [producer.send(topic, b"%d" % number, partition=0) for number in range(1000)]
if way == "cycle":
    producer.itself = producer
if way in ("dropped", "cycle"):
    del producer
    end = time.monotonic() + 90
    while not sent[-1].done() and time.monotonic() < end:
        gc.collect()  # again, for records were being taken over from it
    sent[-1].result(90)
if way == "failed":
    raise ValueError("the program's own")
"""


@pytest.mark.parametrize("way", ["ended", "dropped", "cycle", "failed"])
def test_a_program_that_forgets_to_close_its_producer_loses_nothing(
    broker: RunningBroker, topic: str, way: str
) -> None:
    ended = _forgetful(FORGETS_TO_CLOSE, broker.bootstrap_servers, topic, way)
    assert ended.returncode == (way == "failed"), ended.stderr
    assert ("ValueError" in ended.stderr) == (way == "failed")
    assert ended.stderr.count("Unclosed") == (way in ("dropped", "cycle"))
    assert "may be lost" not in ended.stderr
    assert values(broker.bootstrap_servers, topic, 2) == [b"%d" % number for number in range(1000)]


GOES_ON_AFTER_ITS_MAIN_THREAD = """
import atexit, sys, threading
from concurrent.futures import ThreadPoolExecutor
from oncelog.client.blocking import Producer, unclosed
servers, topic, way = sys.argv[1:]
unclosed.AT_EXIT_SECONDS = 180  # of a busy machine
producer = Producer(bootstrap_servers=servers, linger_ms=100_000)
producer.send(topic, b"0", partition=0)
ends = threading.Event()
threading._register_atexit(ends.set)  # comes before those that were registered earlier
def resume():
    ends.wait(90)
    first.result(90)  # the end of the main thread has sent it
    producer.send(topic, b"2", partition=0)
first = producer.send(topic, b"1", partition=0)
if way == "thread":
    threading.Thread(target=resume).start()
elif way == "pool":
    ThreadPoolExecutor(1).submit(resume)
else:
    atexit.register(lambda: (producer.send(topic, b"2", partition=0), producer.flush()))
"""


@pytest.mark.parametrize("way", ["thread", "pool", "atexit"])
def test_threads_that_outlive_the_main_thread_can_use_a_producer(broker: RunningBroker, topic: str, way: str) -> None:
    """The producer used to be closed when the main thread ended, so the other threads' records were refused."""
    ended = _forgetful(GOES_ON_AFTER_ITS_MAIN_THREAD, broker.bootstrap_servers, topic, way)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert values(broker.bootstrap_servers, topic, 2) == [b"0", b"1", b"2"]


def test_a_failed_record_whose_future_is_never_read_is_reported_once(
    broker: RunningBroker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for _ in range(3):
            producer.send(topic, b"v", partition=17)
        asked = producer.send(topic, b"v", partition=18)
        producer.flush()
        assert isinstance(asked.exception(), UnknownTopicOrPartitionError)
    del asked
    reported = [record.getMessage() for record in caplog.records if "did not read its outcome" in record.getMessage()]
    assert len(reported) == 1
    assert (
        f"the program did not read its outcome: topic {topic!r} has no partition 17; its partitions are 0 to 1"
        in reported[0]
    )


def test_a_transaction_that_a_program_leaves_open_is_aborted_and_reported(broker: RunningBroker, topic: str) -> None:
    script = """
import sys
from oncelog.client.blocking import Producer, unclosed
servers, topic, _ = sys.argv[1:]
unclosed.AT_EXIT_SECONDS = 90
producer = Producer(bootstrap_servers=servers, transactional_id=topic)
producer.begin_transaction()
producer.send_and_wait(topic, b"not committed", partition=0)
"""
    ended = _forgetful(script, broker.bootstrap_servers, topic)
    assert ended.returncode == 0
    assert "with a transaction open" in ended.stderr
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        assert [found.state for found in admin.describe_transactions([topic])] == ["CompleteAbort"]


def test_records_that_cannot_be_sent_at_the_end_of_a_program_are_reported(broker: RunningBroker, topic: str) -> None:
    script = """
import sys
from oncelog.client.blocking import Producer, unclosed
servers, topic, _ = sys.argv[1:]
unclosed.AT_EXIT_SECONDS = 0.2
producer = Producer(bootstrap_servers=servers)
producer.send_and_wait(topic, b"first", partition=0)
producer._producer._sender.poll = lambda now_ms: None  # the broker takes nothing any more
for number in range(3):
    producer.send(topic, b"second", partition=0)
"""
    ended = _forgetful(script, broker.bootstrap_servers, topic)
    assert "before 3 records were acknowledged" in ended.stderr
    assert values(broker.bootstrap_servers, topic, 2) == [b"first"]


def _forgetful(script: str, servers: str, topic: str, way: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", script, servers, topic, way],
        check=False,
        timeout=120,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_callback_that_raises_does_not_stop_other_callbacks(
    broker: RunningBroker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The exception ended the connection, and later deliveries of the batch never got an outcome."""

    def fail(_: object) -> None:
        raise SystemExit("a mistake of the program")

    with Producer(bootstrap_servers=broker.bootstrap_servers, linger_ms=100) as producer:
        deliveries = [producer.send(topic, b"%d" % n, partition=0) for n in range(10)]
        deliveries[0].add_done_callback(fail)
        assert [delivery.result(60).offset for delivery in deliveries] == list(range(10))
        assert producer.send_and_wait(topic, b"more", partition=0).offset == 10
    assert "a mistake of the program" in caplog.text


def test_an_exception_of_a_partitioner_is_the_outcome_of_its_record(broker: RunningBroker, topic: str) -> None:
    """The delivery never got an outcome, and the producer accepted no later records."""

    def choose(key: bytes | None, partitions: list[int], available: list[int]) -> int:
        return {b"known": 1}[key or b""]

    with Producer(bootstrap_servers=broker.bootstrap_servers, partitioner=choose) as producer:
        refused = producer.send(topic, b"v", key=b"unknown")
        assert isinstance(refused.exception(60), KeyError)
        sent = producer.send(topic, b"v", key=b"known")
        assert sent.result(60).partition == 1


def test_reusing_a_buffer_does_not_change_records_that_were_sent(broker: RunningBroker, unique_name: str) -> None:
    buffer = bytearray(4)
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for number in range(500):
            buffer[:] = number.to_bytes(4, "big")
            producer.send(unique_name, memoryview(buffer), buffer, headers=[("h", buffer)])  # type: ignore[list-item]
    with Consumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(unique_name, 0)])
        for number in range(500):
            record, sent = consumer.getone(), number.to_bytes(4, "big")
            assert (record.value, record.key, record.headers) == (sent, sent, (("h", sent),))


def test_an_iterable_argument_of_a_blocking_client_can_call_that_client(
    broker: RunningBroker, unique_name: str
) -> None:
    with (
        Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
        Consumer(bootstrap_servers=broker.bootstrap_servers) as consumer,
    ):
        admin.create_topics(NewTopic(unique_name, len(admin.describe_cluster().nodes), 1) for _ in range(1))
        consumer.assign(name for topic in [unique_name] for name in admin.partitions(topic))
        assert consumer.assignment() == {TopicPartition(unique_name, 0)}
        found = consumer.end_offsets(name for topic in [unique_name] for name in admin.partitions(topic))
        assert found == {TopicPartition(unique_name, 0): 0}
