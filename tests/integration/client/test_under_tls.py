"""Under TLS, records sent without acknowledgements stay in the transport until the system has taken them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.client.aio import Consumer, Producer
from oncelog.types import TopicPartition
from tests.integration.client.proxy import KafkaProxy
from tests.integration.client.reading import make_topic, on_loop
from tests.integration.security.certificates import Authority

uvloop = pytest.importorskip("uvloop", reason="there is none for Windows")


@on_loop
async def test_stop_waits_until_the_system_has_taken_encrypted_bytes(tmp_path: Path, unique_name: str) -> None:
    """The record was reported as sent and then dropped."""
    authority = Authority(tmp_path)
    ends = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ends.load_cert_chain(authority.issue("server").store)
    with oncelog.Broker() as broker:
        servers = broker.bootstrap_servers
        name = TopicPartition(await make_topic(servers, unique_name), 0)
        async with KafkaProxy(servers, tls=ends) as proxy, Consumer(bootstrap_servers=servers) as consumer:
            producer = Producer(
                bootstrap_servers=proxy.bootstrap_servers,
                security_protocol="SSL",
                ssl_cafile=str(authority.certificate),
                acks=0,
                enable_idempotence=False,
            )
            await producer.start()
            await producer.send_and_wait(name.topic, b"first")
            (connection,) = [item for item in producer._network._connections.values() if item.node >= 0]
            under = connection._under
            assert under is not None
            proxy.reading.clear()
            sent = 1
            while not under.get_write_buffer_size():
                await producer.send(name.topic, b"x" * 10_000)
                sent += 1
                await asyncio.sleep(0)
            stopping = asyncio.create_task(producer.stop())
            await asyncio.wait([stopping], timeout=1)
            proxy.reading.set()
            await stopping
            async with asyncio.timeout(20):
                while (await consumer.end_offsets([name]))[name] < sent:
                    await asyncio.sleep(0.05)


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_stop_loses_no_record_while_an_answer_is_outstanding(
    run: Callable[[Coroutine[Any, Any, None]], None], encrypted: bool, tmp_path: Path, unique_name: str
) -> None:
    """The answer reached a closed socket, so the kernel dropped what it had not sent yet."""
    authority = Authority(tmp_path)
    ends = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ends.load_cert_chain(authority.issue("server").store)
    security = {"security_protocol": "SSL", "ssl_cafile": str(authority.certificate)} if encrypted else {}

    async def program(servers: str) -> None:
        name = TopicPartition(await make_topic(servers, unique_name), 0)
        async with (
            KafkaProxy(servers, tls=ends if encrypted else None, receive_buffer=4096) as proxy,
            Consumer(bootstrap_servers=servers) as consumer,
        ):
            producer = Producer(bootstrap_servers=proxy.bootstrap_servers, acks=0, enable_idempotence=False, **security)
            await producer.start()
            await producer.send_and_wait(name.topic, b"first")
            proxy.reading.clear()
            for number in range(40):
                await producer.send_and_wait(name.topic, bytes(10_000))
                if number == 5:
                    asks = asyncio.create_task(producer.partitions_for("another"))
            stopping = asyncio.create_task(producer.stop())
            await asyncio.wait([stopping], timeout=1)
            proxy.reading.set()
            await asyncio.gather(stopping, asks, return_exceptions=True)
            async with asyncio.timeout(20):
                while (await consumer.end_offsets([name]))[name] < 41:
                    await asyncio.sleep(0.05)

    with oncelog.Broker() as broker:
        run(program(broker.bootstrap_servers))
