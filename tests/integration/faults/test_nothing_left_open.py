"""With every warning an error, nothing of the kit is left open: sockets, streams, threads, tasks, files, event loops.

Each round uses everything that the kit has, also while connections are being opened, and then looks.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import asyncio, gc, socket, tempfile, threading, urllib.request
import pytest
import oncelog
from oncelog.testing import FaultProxy, KafkaBroker

ROUNDS = range({rounds})

@pytest.fixture(autouse=True)
def nothing_is_left(oncelog_broker):
    before = set(threading.enumerate())
    yield
    for _ in range(3):
        gc.collect()
    left = [thread.name for thread in set(threading.enumerate()) - before if thread.name != "oncelog-client"]
    assert left == []

def use(servers, name):
    with oncelog.Producer(bootstrap_servers=servers) as producer:
        producer.send_and_wait(name, b"1")
    with oncelog.Consumer(name, bootstrap_servers=servers, group_id=name, auto_offset_reset="earliest") as consumer:
        assert consumer.getone().value == b"1"

@pytest.mark.parametrize("number", ROUNDS)
def test_proxy(oncelog_broker, oncelog_topic, number):
    with FaultProxy(oncelog_broker.bootstrap_servers) as proxy:
        host, _, port = proxy.bootstrap_servers.partition(":")
        some = [socket.create_connection((host, int(port))) for _ in range(number % 3)]
        if number % 2:
            use(proxy.bootstrap_servers, oncelog_topic)
            proxy.faults.blackhole(client_id="lost")
            some += [socket.create_connection((host, int(port)))]
            proxy.end_connections()
        last = socket.create_connection((host, int(port)))  # it may not be accepted yet when the proxy stops
    for opened in [*some, last]:
        opened.close()

@pytest.mark.parametrize("number", ROUNDS)
def test_broker(number, tmp_path):
    data = tmp_path if number % 2 else None
    with oncelog.Broker(data, metrics="127.0.0.1:0", faults=True, nodes=1 + 2 * (number % 3 == 2)) as broker:
        use(broker.bootstrap_servers, "t")
        urllib.request.urlopen(f"http://{{broker.metrics_address}}/metrics").read()
        waiting = [socket.create_connection(broker.metrics_address), socket.create_connection(broker.address)]
        broker.pass_time(3600)
        if number % 2:
            broker.faults.power_loss()
        else:
            broker.restart()
        use(broker.bootstrap_servers, "u")
        last = socket.create_connection(broker.address)
    for opened in [*waiting, last]:
        opened.close()

@pytest.mark.parametrize("number", ROUNDS)
def test_clients_of_a_loop(oncelog_broker, oncelog_topic, number):
    from oncelog.client.aio import Admin, Consumer, Producer
    servers = oncelog_broker.bootstrap_servers

    async def main():
        async with Producer(bootstrap_servers=servers) as producer, Admin(bootstrap_servers=servers) as admin:
            await producer.send_and_wait(oncelog_topic, b"1")
            async with Consumer(oncelog_topic, bootstrap_servers=servers, group_id=oncelog_topic) as consumer:
                await consumer.getmany(timeout_ms=number)

    asyncio.run(main())

@pytest.mark.parametrize("number", ROUNDS)
def test_registry(oncelog_broker, oncelog_schema_registry, number):
    if number % 2:
        assert urllib.request.urlopen(oncelog_schema_registry + "/subjects").read() == b"[]"

def test_the_broker_of_a_container():
    with KafkaBroker() as kafka:
        use(kafka.get_bootstrap_server(), "t")
"""


def _run(folder: Path, rounds: int, *options: str) -> None:
    (folder / "test_users.py").write_text(TESTS.format(rounds=rounds))
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    strict = [sys.executable, "-X", "dev", "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*strict, *options, str(folder)],
        capture_output=True, text=True, timeout=850, check=False, cwd=folder,
    )  # fmt: skip
    assert f"{4 * rounds + 1} passed" in done.stdout, done.stdout[-10_000:] + done.stderr[-5_000:]
    assert "ResourceWarning" not in done.stdout + done.stderr
    assert "Unclosed" not in done.stdout + done.stderr


def test_brokers_and_clients_leave_no_resource_open(tmp_path: Path) -> None:
    _run(tmp_path, 3)


@pytest.mark.soak
def test_brokers_and_clients_leave_no_resource_open_in_fifty_rounds(tmp_path: Path) -> None:
    _run(tmp_path, 50)
