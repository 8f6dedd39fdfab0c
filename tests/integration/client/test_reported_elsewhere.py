"""Programs and interpreters in which other clients of Kafka hung, crashed or lost records, as public reports have them.
Each course names its report, and runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import pytest

SECONDS = 300
BEGIN = """
import asyncio, os, random, signal, sys, threading, time
import oncelog

def tried(servers, topic="t"):
    with oncelog.Producer(bootstrap_servers=servers) as producer:
        producer.send_and_wait(topic, b"x", key=b"k")
    options = dict(bootstrap_servers=servers, group_id="g-" + topic, auto_offset_reset="earliest")
    with oncelog.Consumer(topic, **options) as consumer:
        assert consumer.getone().value == b"x"
        consumer.commit()
"""
END = "\nprint('done', flush=True)\n"


class Course(NamedTuple):
    """A program, and how its interpreter is started."""

    report: str
    code: str
    options: tuple[str, ...] = ()


COURSES: dict[str, Course] = {
    "while functions of the standard library are mocks": Course(
        "as caura-ai/caura#868 for asyncio.sleep: a mock that is meant for one module holds for the whole process",
        """
from unittest import mock
names = ("base64.b64encode", "builtins.open", "json.dumps", "json.loads", "threading.Event", "uuid.uuid4")
with oncelog.Broker() as broker:
    tried(broker.bootstrap_servers)
    for number, name in enumerate(names):
        with mock.patch(name):
            tried(broker.bootstrap_servers, f"t{number}")
    tried(broker.bootstrap_servers, "after")
""",
    ),
    "stopped by another thread while it waits": Course(
        "kafka-python-ng/kafka-python-ng#97, dpkp/kafka-python#2152: poll hangs if the consumer is closed meanwhile",
        """
with oncelog.Broker() as broker:
    consumer = oncelog.Consumer("t", bootstrap_servers=broker.bootstrap_servers, group_id="g").start()
    ended = []
    threads = [threading.Thread(target=lambda: ended.append(list(consumer))), ]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    consumer.close()
    for thread in threads:
        thread.join(60)
    assert ended == [[]], ended
""",
    ),
    "closed by a signal's handler": Course(
        "dpkp/kafka-python#1391 and #2086: close() in the handler of SIGTERM does not return, or the loop fails",
        """
with oncelog.Broker() as broker:
    consumer = oncelog.Consumer("t", bootstrap_servers=broker.bootstrap_servers, group_id="g").start()
    signal.signal(signal.SIGTERM, lambda *_: consumer.close())
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    assert [record for record in consumer] == []
""",
    ),
    "closed by a handler that ends the program": Course(
        "dpkp/kafka-python#2086: the handler closes the consumer and exits",
        """
broker = oncelog.Broker().start()
consumer = oncelog.Consumer("t", bootstrap_servers=broker.bootstrap_servers, group_id="g").start()
def end(*_):
    consumer.close()
    broker.stop()
    print("done", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
for record in consumer:
    pass
""",
    ),
    "interrupted and not closed": Course(
        "confluentinc/confluent-kafka-python#66 and #209: Ctrl-C crashes, or does nothing",
        """
with oncelog.Broker() as broker:
    consumer = oncelog.Consumer("t", bootstrap_servers=broker.bootstrap_servers, group_id="g").start()
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        consumer.getone()
    except KeyboardInterrupt:
        consumer.close()
    else:
        sys.exit("not interrupted")
""",
    ),
    "a start that failed leaves nothing to close": Course(
        "aio-libs/aiokafka#1130: __aenter__ fails, and the client warns that it is unclosed",
        """
import gc, warnings
from oncelog.client.aio import Admin, Consumer, Producer
warnings.simplefilter("error")
async def main():
    made = [kind(bootstrap_servers="127.0.0.1:1") for kind in (Producer, Admin)]
    made += [Consumer("t", group_id="g", bootstrap_servers="127.0.0.1:1"), Consumer(bootstrap_servers="127.0.0.1:1")]
    for client in made:
        try:
            async with client:
                pass
        except oncelog.OncelogError as error:
            assert "127.0.0.1:1" in str(error), error
        else:
            sys.exit("started")
    gc.collect()
asyncio.run(main())
gc.collect()
""",
        ("-W", "error"),
    ),
    "used where a loop runs": Course(
        "jupyter/notebook#4312, ipython/ipython#11338, airtai/fastkafka#36: a notebook's cells run in a loop",
        """
async def cell():
    with oncelog.Broker(schema_registry=True) as broker:
        tried(broker.bootstrap_servers)
        from oncelog.testing import FaultProxy
        with FaultProxy(broker.bootstrap_servers) as proxy:
            tried(proxy.bootstrap_servers, "u")
asyncio.run(cell())
""",
    ),
    "in asyncio's debug mode": Course(
        "aio-libs/aiokafka#298: errors are logged in debug mode only",
        """
import logging
logging.basicConfig(level=logging.WARNING)
logging.getLogger("asyncio").addFilter(lambda record: "Executing" not in record.getMessage())
with oncelog.Broker() as broker:
    tried(broker.bootstrap_servers)
    async def main():
        from oncelog.client.aio import Consumer, Producer
        servers = broker.bootstrap_servers
        reader = Consumer("t", bootstrap_servers=servers)
        async with Producer(bootstrap_servers=servers) as producer, reader as consumer:
            waiting = asyncio.create_task(consumer.getone())
            await asyncio.sleep(0.1)
            waiting.cancel()
            await producer.send_and_wait("t", b"y")
    asyncio.run(main(), debug=True)
""",
        ("-X", "dev"),
    ),
    "without asserts and docstrings": Course(
        "scott-griffiths/bitstring#321, python-openxml/python-docx#337: -OO takes docstrings away",
        """
assert False
from oncelog.testing import FaultProxy, KafkaBroker
import oncelog.cli.main
with oncelog.Broker(schema_registry=True, nodes=1) as broker:
    tried(broker.bootstrap_servers)
for name in oncelog.cli.main.COMMANDS:
    assert oncelog.cli.main.command.get_command(oncelog.cli.main.click.Context(oncelog.cli.main.command), name)
""",
        ("-OO",),
    ),
    "bytes compared with text are errors": Course(
        "pallets/click#3642, tahoe-lafs/tahoe-lafs#1044: BytesWarning under -bb",
        """
with oncelog.Broker(schema_registry=True) as broker:
    tried(broker.bootstrap_servers)
    with oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.list_topics(), admin.list_consumer_groups(), admin.describe_cluster()
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id="x") as producer:
        with producer.transaction():
            producer.send("t", b"y", headers=[("h", b"v"), ("n", None)])
""",
        ("-bb",),
    ),
    "a program's own random numbers stay": Course(
        "quantumlib/Cirq#3906, pytest-dev/pytest-randomly#600: who seeds random gets the same numbers again",
        """
def numbers(servers):
    random.seed(5)
    found = []
    with oncelog.Producer(bootstrap_servers=servers, linger_ms=0) as producer:
        for number in range(20):
            producer.send_and_wait("many", b"x")
            found.append(random.random())
    return found
random.seed(5)
expected = [random.random() for _ in range(20)]
with oncelog.Broker(settings={"num.partitions": 5}) as broker:
    assert numbers(broker.bootstrap_servers) == expected
    assert numbers(broker.bootstrap_servers) == expected
""",
    ),
    "random numbers are seeded again": Course(
        "locustio/locust#894, rungalileo/dataquality#594: seeded processes choose the same names",
        """
clusters, topics = set(), set()
for _ in range(2):
    random.seed(0)
    with oncelog.Broker() as broker, oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        random.seed(0)
        admin.create_topics([oncelog.NewTopic("a", 1)])
        random.seed(0)
        admin.create_topics([oncelog.NewTopic("b", 1)])
        topics |= {topic.topic_id for topic in admin.describe_topics(["a", "b"])}
        clusters.add(admin.describe_cluster().cluster_id)
        options = dict(bootstrap_servers=broker.bootstrap_servers, group_id="g", group_protocol="consumer")
        with oncelog.Consumer("a", **options) as one:
            random.seed(0)
            with oncelog.Consumer("a", **options) as two:
                one.getmany(timeout_ms=500), two.getmany(timeout_ms=500)
                assert one.group_metadata().member_id != two.group_metadata().member_id
assert (len(clusters), len(topics)) == (2, 4), (clusters, topics)
""",
    ),
    "time, uuid and sleep are mocked": Course(
        "dpkp/kafka-python#2458 and tests of services: a test patches time.time, time.sleep and uuid.uuid4",
        """
import uuid
from unittest import mock
with oncelog.Broker() as broker:
    with (
        mock.patch("time.time", return_value=0.0), mock.patch("time.monotonic", return_value=5.0),
        mock.patch("time.sleep"), mock.patch("time.time_ns", return_value=0),
    ):
        tried(broker.bootstrap_servers)
    with mock.patch("uuid.uuid4", return_value=uuid.UUID(int=7)):
        tried(broker.bootstrap_servers, "u")
        with oncelog.Broker() as other:
            tried(other.bootstrap_servers)
        options = dict(bootstrap_servers=broker.bootstrap_servers, group_id="n", group_protocol="consumer")
        with oncelog.Consumer("t", **options) as one, oncelog.Consumer("u", **options) as two:
            one.getmany(timeout_ms=500), two.getmany(timeout_ms=500)
            assert one.group_metadata().member_id != two.group_metadata().member_id
    with oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        assert len({topic.topic_id for topic in admin.describe_topics(["t", "u"])}) == 2
""",
    ),
    "os.urandom is mocked": Course(
        "codeflash-ai/codeflash#1821: a tool that makes tests repeatable patches os.urandom by a constant",
        """
from unittest import mock
with mock.patch("os.urandom", side_effect=lambda size: bytes(size)):
    clusters, topics = set(), set()
    for _ in range(2):
        with oncelog.Broker() as broker, oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            tried(broker.bootstrap_servers, "t")
            tried(broker.bootstrap_servers, "u")
            topics |= {topic.topic_id for topic in admin.describe_topics(["t", "u"])}
            clusters.add(admin.describe_cluster().cluster_id)
assert (len(clusters), len(topics)) == (2, 4), (clusters, topics)
""",
    ),
    "made before the fork and used first after it": Course(
        "confluentinc/confluent-kafka-python#1122 and #351, dpkp/kafka-python#1098, getsentry/snuba#111: gunicorn and "
        "Celery import the program before they fork",
        """
import multiprocessing
context = multiprocessing.get_context("fork")
broker = oncelog.Broker().start()
producer = oncelog.Producer(bootstrap_servers=broker.bootstrap_servers)
def work(number):
    for _ in range(3):
        producer.send_and_wait("t", b"%d" % number)
    producer.close()
workers = [context.Process(target=work, args=(number,)) for number in range(3)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join(60)
assert [worker.exitcode for worker in workers] == [0, 0, 0], workers
producer.send_and_wait("t", b"parent")
producer.close()
with oncelog.Consumer("t", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
    assert len([consumer.getone() for _ in range(10)]) == 10
broker.stop()
""",
    ),
    "spawned and pooled processes": Course(
        "pytest-dev/pytest#5447, confluentinc/librdkafka#3983: processes that a program starts with multiprocessing",
        """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
with oncelog.Broker() as broker:
    tried(broker.bootstrap_servers)
    for way in ("spawn", "forkserver", "fork"):
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(way)) as pool:
            assert list(pool.map(len, [broker.bootstrap_servers] * 4)) == [len(broker.bootstrap_servers)] * 4
    child = os.fork()
    if not child:
        sys.exit(0)  # with everything that Python does at the end
    assert os.waitpid(child, 0)[1] == 0
    tried(broker.bootstrap_servers, "u")
""",
    ),
    "on one processor": Course(
        "Parsely/pykafka#485: tests hang in a machine with one processor",
        """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
with oncelog.Broker(nodes=3, schema_registry=False) as broker:
    tried(broker.bootstrap_servers)
    broker.node(2).stop()
    tried(broker.bootstrap_servers, "u")
""",
    ),
    "stopped for longer than its session": Course(
        "dpkp/kafka-python#987, #1418 and #1787: a debugger stops the process, and the member has lost its partitions",
        """
import subprocess
with oncelog.Broker(settings={"group.min.session.timeout.ms": 500}) as broker:
    code = '''
import sys, oncelog
servers = sys.argv[1]
options = dict(bootstrap_servers=servers, group_id="g", auto_offset_reset="earliest", session_timeout_ms=1000,
               heartbeat_interval_ms=300, enable_auto_commit=False, group_protocol="classic")
with oncelog.Consumer("t", **options) as consumer:
    print(consumer.getone().offset, flush=True)
    input()
    try:
        consumer.commit()
    except oncelog.OncelogError as error:
        print(type(error).__name__, flush=True)
    else:
        print("committed", flush=True)
    print(consumer.getone().offset, flush=True)
    consumer.commit()
'''
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for number in range(2):
            producer.send_and_wait("t", b"x")
    process = subprocess.Popen([sys.executable, "-c", code, broker.bootstrap_servers], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "0\\n"
    process.send_signal(signal.SIGSTOP)
    time.sleep(3)
    process.send_signal(signal.SIGCONT)
    process.stdin.write("\\n"), process.stdin.flush()
    lines = process.communicate(timeout=120)[0].split()
    # as in Java: refused, or, if it has joined again, of the positions that it began again with
    assert lines in (["CommitFailedError", "0"], ["committed", "0"]), lines
    assert process.returncode == 0
""",
    ),
}


@pytest.mark.parametrize("course", COURSES.values(), ids=COURSES)
def test_a_sequence_of_calls_that_failed_in_another_client_succeeds(course: Course) -> None:
    code = BEGIN + course.code + END
    command = [sys.executable, *course.options, "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), (course.report, ended.stdout, ended.stderr)
    assert ended.stderr == "", (course.report, ended.stderr)


CLIENTS = """
def confluent(servers):
    from confluent_kafka import Producer
    producer, errors = Producer({"bootstrap.servers": servers, "log_level": 0}), []
    producer.produce("t", b"x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0 and errors == [None], errors

def kafka_python(servers):
    from kafka import KafkaProducer
    producer = KafkaProducer(bootstrap_servers=servers)
    producer.send("t", b"x").get(60)
    producer.close()

def aiokafka(servers):
    async def main():
        from aiokafka import AIOKafkaProducer
        async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
            await producer.send_and_wait("t", b"x")
    asyncio.run(main())

uses = {"oncelog": tried, "confluent": confluent, "kafka-python": kafka_python, "aiokafka": aiokafka}
"""


def ended(code: str, *arguments: str) -> str:
    """What the program wrote to standard error, after it has ended well."""
    command = [sys.executable, "-c", BEGIN + CLIENTS + code + END, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    return done.stderr


@pytest.mark.parametrize("listen", ["[::1]:0", "localhost:0"])
@pytest.mark.parametrize("client", ["oncelog", "confluent", "kafka-python", "aiokafka"])
def test_each_client_reaches_a_broker_by_ipv6_address_and_by_host_name(listen: str, client: str) -> None:
    """fede1024/rust-rdkafka#809 and dpkp/kafka-python#1471: the address that a broker tells its clients works."""
    ended(
        "with oncelog.Broker(listen=sys.argv[1]) as broker:\n    uses[sys.argv[2]](broker.bootstrap_servers)",
        listen,
        client,
    )


@pytest.mark.parametrize("listen", ["[::1]:0", "127.0.0.1:0"])
def test_a_host_name_with_two_addresses_is_tried_at_both_addresses(listen: str) -> None:
    """confluentinc/confluent-kafka-python#229 and dpkp/kafka-python#838: the client tried ``::1`` alone."""
    code = """
import socket
real = socket.getaddrinfo
def both(host, port, family=0, *more, **options):
    if host != "both.test":
        return real(host, port, family, *more, **options)
    return real("::1", port, 0, *more, **options) + real("127.0.0.1", port, 0, *more, **options)
socket.getaddrinfo = both
with oncelog.Broker(listen=sys.argv[1]) as broker:
    tried("both.test:" + broker.bootstrap_servers.rpartition(":")[2])
"""
    assert ended(code, listen) == ""
