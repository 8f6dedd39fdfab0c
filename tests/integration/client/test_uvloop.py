"""The clients on uvloop, whose transports are not subclasses of asyncio's, with and without TLS."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import oncelog
from oncelog.client.aio import Admin, Consumer, Producer, TopicPartition
from tests.integration.client.reading import make_topic
from tests.integration.security.certificates import Authority

uvloop = pytest.importorskip("uvloop", reason="there is none for Windows")


async def copy(servers: str, topic: str, **security: str) -> None:
    """What a program does in its first hour, and a transaction."""
    async with Producer(bootstrap_servers=servers, **security) as producer:
        sent = [await producer.send(topic, bytes(50_000)) for _ in range(100)]
        assert [(await future).offset for future in sent] == list(range(100))
    async with Producer(bootstrap_servers=servers, acks=0, enable_idempotence=False, **security) as producer:
        for _ in range(100):
            await producer.send(topic, bytes(20_000))
    await _has_arrived(servers, topic, 200, **security)
    producer = Producer(bootstrap_servers=servers, transactional_id=topic, **security)
    async with producer, producer.transaction():
        await producer.send_and_wait(topic, b"last")
    reading = Consumer(
        topic, bootstrap_servers=servers, isolation_level="read_committed", auto_offset_reset="earliest", **security
    )
    async with reading as consumer:
        count = 0
        while True:
            record = await consumer.getone()
            count += 1
            if record.value == b"last":
                break
        assert count == 201
    async with Admin(bootstrap_servers=servers, **security) as admin:
        assert topic in await admin.list_topics()


async def _has_arrived(servers: str, topic: str, end: int, **security: str) -> None:
    """Wait: a producer without acknowledgements may leave before a busy broker has started on its records."""
    async with Consumer(bootstrap_servers=servers, **security) as consumer:
        partition = TopicPartition(topic, 0)
        while (await consumer.end_offsets([partition]))[partition] < end:
            await asyncio.sleep(0.01)


def test_clients_work_on_uvloop(unique_name: str) -> None:
    with oncelog.Broker() as broker:

        async def program() -> None:
            await copy(broker.bootstrap_servers, await make_topic(broker.bootstrap_servers, unique_name))

        uvloop.run(program())


def test_clients_work_on_uvloop_over_tls(tmp_path: Path, unique_name: str) -> None:
    authority = Authority(tmp_path)
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.location": str(authority.issue("server").store),
        "ssl.keystore.type": "PEM",
    }
    with oncelog.Broker(settings=settings) as broker:
        uvloop.run(
            copy(
                broker.bootstrap_servers,
                unique_name,
                security_protocol="SSL",
                ssl_cafile=str(authority.certificate),
            )
        )
