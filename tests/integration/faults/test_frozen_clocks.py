"""A user's test that freezes the clock: broker, clients, proxy and registry keep real time, whatever is frozen when.

Each course runs in a process of its own, because it matters what is frozen when a module is imported.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import asyncio, contextlib, sys, time, urllib.request
import freezegun, time_machine
if {uvloop!r} == "without uvloop":
    sys.modules["uvloop"] = None

def frozen(when="2012-01-14", tick=False):
    with_freezegun = {tool!r} == "freezegun"
    return freezegun.freeze_time(when, tick=tick) if with_freezegun else time_machine.travel(when, tick=tick)

def is_now(timestamp_ms):
    return abs(timestamp_ms / 1000 - time.clock_gettime(5)) < 300

def blocking(servers, topic):
    import oncelog
    with oncelog.Producer(bootstrap_servers=servers) as producer:
        producer.send_and_wait(topic, b"1")
        producer.send(topic, b"2")
        producer.flush()
    options = dict(bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest")
    with oncelog.Consumer(topic, **options) as consumer:
        first, second = consumer.getone(), consumer.getone()
        consumer.commit()
        assert is_now(first.timestamp), first
        assert consumer.getone(timeout_ms=50) is None

async def in_a_loop(servers, topic):
    from oncelog.client.aio import Consumer, Producer
    options = dict(bootstrap_servers=servers, group_id=topic + "-loop", auto_offset_reset="earliest")
    async with Producer(bootstrap_servers=servers, linger_ms=5) as producer, Consumer(topic, **options) as consumer:
        with frozen("2050-01-01"):
            await producer.send_and_wait(topic, b"3")
            await asyncio.sleep(0.01)
        assert (await consumer.getone()).value == b"1"
        with frozen("2013-01-01"):
            await producer.send_and_wait(topic, b"4")
            await consumer.getmany(timeout_ms=50)
            await consumer.getmany(timeout_ms=50)
            await consumer.getmany(timeout_ms=50)

def librdkafka(servers, topic):
    from confluent_kafka import Consumer, Producer
    producer, errors = Producer({{"bootstrap.servers": servers}}), []
    producer.produce(topic, b"5", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0 and errors == [None], errors
    settings = {{"bootstrap.servers": servers, "group.id": topic + "-c", "auto.offset.reset": "earliest"}}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    assert consumer.poll(60).value() == b"1"
    consumer.close()

def everything(broker, topic):
    servers = broker.bootstrap_servers
    blocking(servers, topic)
    asyncio.run(in_a_loop(servers, topic))
    librdkafka(servers, topic)
    broker.pass_time(3600)
"""

COURSES = {
    "imported while the clock is frozen": """
with frozen():
    import oncelog
    with oncelog.Broker() as broker:
        everything(broker, "t")
with oncelog.Broker() as broker:
    everything(broker, "t")
""",
    "frozen, moved and released while it runs": """
import oncelog
with oncelog.Broker() as broker, oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
    producer.send_and_wait("k", b"0")
    for number, when in enumerate(("2012-01-14", "2050-01-01")):
        with frozen(when, tick=bool(number)):
            everything(broker, f"t{number}")
            producer.send_and_wait("k", b"1")
        blocking(broker.bootstrap_servers, f"u{number}")
        producer.send_and_wait("k", b"2")
""",
    "registry, metrics, proxy and restart": """
import oncelog
from oncelog.testing import FaultProxy
with frozen(), oncelog.Broker(schema_registry=True, metrics="127.0.0.1:0") as broker:
    assert urllib.request.urlopen(broker.schema_registry_url + "/subjects", timeout=300).read() == b"[]"
    assert b"kafka" in urllib.request.urlopen(f"http://{broker.metrics_address}/metrics", timeout=300).read()
    with FaultProxy(broker.bootstrap_servers) as proxy, proxy.faults.delay(20, "Metadata", times=1):
        blocking(proxy.bootstrap_servers, "p")
    broker.restart()
    everything(broker, "r")
""",
}
OTHER_CLIENTS = """
import aiokafka, kafka, oncelog
from datetime import datetime, timezone

async def aio(servers):
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=servers) as producer:
        return (await producer.send_and_wait("a", b"1")).timestamp

with oncelog.Broker() as broker:
    with frozen():
        timestamp = asyncio.run(aio(broker.bootstrap_servers))
    assert is_now(timestamp), timestamp
    # freezegun stops the monotonic clock of kafka-python, too: its producer then waits for metadata until it gives up
    without_kafka = freezegun.freeze_time("2012-01-14", ignore=["kafka"])
    with without_kafka if {tool!r} == "freezegun" else frozen():
        producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        timestamp = producer.send("k", b"1").get(60).timestamp
        producer.close()
    frozen_ms = datetime(2012, 1, 14, tzinfo=timezone.utc).timestamp() * 1000
    assert is_now(timestamp) if {tool!r} == "freezegun" else timestamp == frozen_ms, timestamp
print("done")
"""
TOOLS = ("freezegun", "time-machine")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("uvloop", ["with uvloop", pytest.param("without uvloop", marks=pytest.mark.soak)])
@pytest.mark.parametrize("course", COURSES.values(), ids=COURSES)
def test_clients_and_brokers_keep_real_time_under_a_frozen_clock(course: str, uvloop: str, tool: str) -> None:
    code = BEGIN.format(uvloop=uvloop, tool=tool) + course + "\nprint('done')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_aiokafka_sends_the_true_time_and_kafka_python_the_time_of_its_module(tool: str) -> None:
    code = (BEGIN + OTHER_CLIENTS).format(uvloop="with uvloop", tool=tool)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "done\n", done.stderr


FIXTURES = """
import time
import freezegun
import pytest
import oncelog

@pytest.fixture
def new_year():
    with freezegun.freeze_time("2013-01-01"):
        yield

@freezegun.freeze_time("2012-01-14")
def test_decorated(oncelog_broker, oncelog_topic):
    with oncelog.Producer(bootstrap_servers=oncelog_broker.bootstrap_servers) as producer:
        producer.send_and_wait(oncelog_topic, b"1")
    assert time.time() == 1326499200

@pytest.mark.oncelog()
def test_clock_of_the_broker_still_moves(new_year, oncelog_broker, oncelog_topic, oncelog_clock):
    with oncelog.Producer(bootstrap_servers=oncelog_broker.bootstrap_servers, transactional_id="x") as producer:
        producer.begin_transaction()
        producer.send_and_wait(oncelog_topic, b"1")
        oncelog_clock.advance(3600)
        with pytest.raises(oncelog.KafkaError):
            producer.commit_transaction()
"""


def test_fixtures_of_the_plugin_keep_real_time_under_a_frozen_clock(tmp_path: Path) -> None:
    (tmp_path / "test_users.py").write_text(FIXTURES)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "2 passed" in done.stdout, done.stdout
