"""A block that an interrupt ends, in front of a silent cluster: the clients stop soon, and say what may be lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import oncelog
from oncelog.client import stopping
from oncelog.client.aio import Consumer as AsyncConsumer
from oncelog.client.aio import Producer as AsyncProducer
from oncelog.client.background import BackgroundLoop, background
from oncelog.client.errors import IllegalStateError, KafkaError

TOPIC = "t"


class Interrupt(BaseException):
    """As Ctrl-C, or a test that took too long."""


@pytest.fixture(scope="module")
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(faults=True) as broker:
        with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send_and_wait(TOPIC, b"0")
        yield broker


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch, broker: oncelog.Broker) -> Iterator[None]:
    monkeypatch.setattr(stopping, "INTERRUPTED_MS", 200)
    yield
    broker.faults.clear()


def _interrupt() -> None:
    raise Interrupt


def _silence(broker: oncelog.Broker, client_id: str) -> None:
    broker.faults.blackhole(client_id)


def test_an_interrupted_producer_gives_up_unacknowledged_records(
    broker: oncelog.Broker, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"bootstrap_servers": broker.bootstrap_servers, "client_id": "silent"}
    with suppress(Interrupt), oncelog.Producer(**settings) as producer:  # type: ignore[arg-type]
        producer.send_and_wait(TOPIC, b"1")
        _silence(broker, "silent")
        delivery = producer.send(TOPIC, b"2")
        _interrupt()
    with pytest.raises(KafkaError, match="the producer was stopped before the record was acknowledged"):
        delivery.result(0)
    assert "1 records were not acknowledged within 200 ms" in caplog.text


def test_an_interrupted_producer_leaves_its_transaction_to_the_timeout(
    broker: oncelog.Broker, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"bootstrap_servers": broker.bootstrap_servers, "client_id": "silent", "transactional_id": "x"}
    with suppress(Interrupt), oncelog.Producer(**settings) as producer, producer.transaction():  # type: ignore[arg-type]
        producer.send_and_wait(TOPIC, b"1")
        _silence(broker, "silent")
        _interrupt()
    assert "the cluster did not end its transaction within 200 ms" in caplog.text


def test_an_interrupted_consumer_leaves_its_group_without_waiting(
    broker: oncelog.Broker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings = {"bootstrap_servers": broker.bootstrap_servers, "client_id": "silent", "group_id": "g"}
    with suppress(Interrupt), oncelog.Consumer(TOPIC, auto_offset_reset="earliest", **settings) as consumer:  # type: ignore[arg-type]
        assert consumer.getone().value == b"0"
        _silence(broker, "silent")
        _interrupt()
    assert "did not confirm within 200 ms that the consumer left its group" in caplog.text


def test_a_cancelled_task_stops_its_clients(broker: oncelog.Broker) -> None:
    async def work(started: asyncio.Event) -> None:
        servers = broker.bootstrap_servers
        async with (
            AsyncConsumer(TOPIC, bootstrap_servers=servers, client_id="silent", group_id="h"),
            AsyncProducer(bootstrap_servers=servers, client_id="silent", transactional_id="y") as producer,
            producer.transaction(),
        ):
            await producer.send_and_wait(TOPIC, b"1")
            _silence(broker, "silent")
            started.set()
            await asyncio.Event().wait()

    async def main() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(work(started))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_an_exception_in_the_program_loses_no_record(broker: oncelog.Broker) -> None:
    with suppress(ValueError), oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        broker.faults.delay(1000, "Produce", topic=TOPIC, times=1)
        delivery = producer.send(TOPIC, b"1")
        int("x")
    assert delivery.result(0).topic == TOPIC


@pytest.mark.parametrize("kind", [oncelog.Producer, oncelog.Consumer, oncelog.Admin])
def test_a_client_whose_start_was_interrupted_is_closed(
    broker: oncelog.Broker, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = kind(bootstrap_servers=broker.bootstrap_servers)
    run = BackgroundLoop.run

    def interrupted(self: BackgroundLoop, work: Any) -> None:
        run(self, work)
        raise Interrupt

    with monkeypatch.context() as patched:
        patched.setattr(BackgroundLoop, "run", interrupted)
        with pytest.raises(Interrupt):
            client.start()
    inner = getattr(client, f"_{kind.__name__.lower()}")
    while not inner._closed:
        background().run(asyncio.sleep(0))


def test_stop_accepts_a_timeout(broker: oncelog.Broker) -> None:
    producer = oncelog.Producer(bootstrap_servers=broker.bootstrap_servers, client_id="silent").start()
    producer.send_and_wait(TOPIC, b"1")
    _silence(broker, "silent")
    delivery = producer.send(TOPIC, b"2")
    producer.stop(timeout_ms=1)
    with pytest.raises(KafkaError, match="the producer was stopped before the record was acknowledged"):
        delivery.result(0)


def test_an_event_loop_other_than_asyncio_is_refused(broker: oncelog.Broker) -> None:
    """As trio does it: a coroutine is run without a loop of asyncio."""
    producer = AsyncProducer(bootstrap_servers=broker.bootstrap_servers)
    with pytest.raises(IllegalStateError, match=r"trio\.to_thread\.run_sync"):
        producer.start().send(None)
