"""Test suites with whose plugins other clients of Kafka failed or hung, as public reports have them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STRICT = [sys.executable, "-X", "dev", "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def suite(
    folder: Path, tests: str, *options: str, ini: str = "filterwarnings = error"
) -> subprocess.CompletedProcess[str]:
    (folder / "test_users.py").write_text(tests)
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    command = [*STRICT, *options, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=folder)


ANYIO = """
import pytest
from oncelog.client.aio import Admin, Consumer, Producer

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.fixture
async def producer(oncelog_broker):
    async with Producer(bootstrap_servers=oncelog_broker.bootstrap_servers) as producer:
        yield producer

@pytest.mark.anyio
@pytest.mark.parametrize("number", range(3))
async def test_each_test_has_a_loop_of_its_own(oncelog_broker, oncelog_topic, producer, number):
    await producer.send_and_wait(oncelog_topic, b"x")
    settings = {"bootstrap_servers": oncelog_broker.bootstrap_servers, "auto_offset_reset": "earliest"}
    async with Consumer(oncelog_topic, group_id="g", **settings) as consumer:
        assert (await consumer.getone()).value == b"x"
"""


def test_asynchronous_fixtures_and_tests_may_have_separate_event_loops(tmp_path: Path) -> None:
    """pytest-dev/pytest-asyncio#84, #183 and #991, django/channels#908: "Event loop is closed"."""
    done = suite(tmp_path, ANYIO)
    assert "3 passed" in done.stdout, done.stdout


UNITTEST = """
import unittest
import oncelog
from oncelog.client.aio import Consumer, Producer

class Tests(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = oncelog.Broker().start()
        cls.addClassCleanup(cls.broker.stop)

    async def asyncSetUp(self):
        self.producer = await self.enterAsyncContext(Producer(bootstrap_servers=self.broker.bootstrap_servers))

    async def test_one(self):
        await self.producer.send_and_wait("t", b"x")

    async def test_two(self):
        await self.producer.send_and_wait("t", b"x")
        settings = {"bootstrap_servers": self.broker.bootstrap_servers, "auto_offset_reset": "earliest"}
        async with Consumer("t", **settings) as consumer:
            self.assertEqual((await consumer.getone()).value, b"x")
"""


def test_cases_of_unittest_use_their_own_event_loops(tmp_path: Path) -> None:
    """pytest-dev/pytest#644 and kernelci/kernelci-api#154."""
    done = suite(tmp_path, UNITTEST)
    assert "2 passed" in done.stdout, done.stdout
    alone = [sys.executable, "-X", "dev", "-W", "error", "-m", "unittest", "-q", "test_users"]
    ended = subprocess.run(alone, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert (ended.returncode, "Warning" in ended.stderr) == (0, False), ended.stderr


WITHOUT_MODULES = """
import sys
from unittest import mock

import oncelog
import pytest

@pytest.fixture
def tmp_path():
    raise OSError("pytest finds no place for it under pyfakefs")

@pytest.mark.parametrize("number", range(2))
def test_modules_come_and_go(oncelog_broker, oncelog_topic, number):
    with mock.patch.dict(sys.modules, {"boto3": mock.Mock()}):
        settings = {"bootstrap_servers": oncelog_broker.bootstrap_servers}
        with oncelog.Producer(transactional_id=oncelog_topic, **settings) as producer, producer.transaction():
            producer.send(oncelog_topic, b"x")
        with oncelog.Consumer(oncelog_topic, group_id="g", auto_offset_reset="earliest", **settings) as consumer:
            assert consumer.getone().value == b"x"
    assert "boto3" not in sys.modules
"""


def test_a_shared_broker_still_serves_after_a_test_has_removed_imported_modules(tmp_path: Path) -> None:
    """hw-native-sys/pypto#2462, openai/openai-agents-python#5049, pytest-dev/pyfakefs#198 and #684:
    ``patch.dict(sys.modules)`` and pyfakefs remove what was imported meanwhile, and pyfakefs leaves no ``tmp_path``."""
    done = suite(tmp_path, WITHOUT_MODULES)
    assert "2 passed" in done.stdout, done.stdout


WITHOUT_ASYNCIO = """
import asyncio
import contextlib
from unittest import mock

import oncelog
import pytest
from oncelog.client.aio import Consumer, Producer

NAMES = [name for name in asyncio.__all__ if callable(getattr(asyncio, name))]
run = asyncio.run

@pytest.mark.parametrize("number", range(2))
def test_each_name_of_asyncio_is_a_mock(oncelog_broker, oncelog_topic, number):
    async def asynchronous():
        async with Producer(bootstrap_servers=oncelog_broker.bootstrap_servers, transactional_id="t") as producer:
            async with producer.transaction():
                await producer.send_and_wait(oncelog_topic, b"x")
        settings = {"bootstrap_servers": oncelog_broker.bootstrap_servers, "auto_offset_reset": "earliest"}
        async with Consumer(oncelog_topic, group_id="g", **settings) as consumer:
            return (await consumer.getone()).value

    with contextlib.ExitStack() as mocks:
        for name in NAMES:
            mocks.enter_context(mock.patch(f"asyncio.{name}"))
        assert run(asynchronous()) == b"x"
        with oncelog.Broker() as broker, oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send_and_wait("t", b"x")
            settings = {"bootstrap_servers": broker.bootstrap_servers, "auto_offset_reset": "earliest"}
            with oncelog.Consumer("t", group_id="g", **settings) as consumer:
                assert consumer.getone().value == b"x"
    assert run(asynchronous()) == b"x"
"""


def test_broker_and_clients_work_while_each_name_of_asyncio_is_mocked(tmp_path: Path) -> None:
    """caura-ai/caura#868, ai-dynamo/aiperf#62: the mock holds for everything in the process. That of ``asyncio.sleep``
    never lets a loop go on, and that of ``asyncio.Event`` never ends a wait."""
    done = suite(tmp_path, WITHOUT_ASYNCIO)
    assert "2 passed" in done.stdout, done.stdout


FORGOTTEN = """
import atexit, logging, sys
import oncelog

logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
kept = []

def test_everything_is_forgotten(oncelog_broker, oncelog_topic):
    servers = oncelog_broker.bootstrap_servers
    producer = oncelog.Producer(bootstrap_servers=servers).start()
    producer.send(oncelog_topic, b"x")
    consumer = oncelog.Consumer(oncelog_topic, bootstrap_servers=servers, group_id="g").start()
    own = oncelog.Broker().start()
    other = oncelog.Producer(bootstrap_servers=own.bootstrap_servers).start()
    kept.extend([producer, consumer, own, other])
"""


def test_clients_that_a_test_left_open_do_not_log_to_a_closed_stream(tmp_path: Path) -> None:
    """pytest-dev/pytest#5577, dpkp/kafka-python#2458 and #1218, eisensheng/pytest-catchlog#43: "Logging error" and "I/O
    operation on closed file" from threads and at the end."""
    done = suite(tmp_path, FORGOTTEN, ini="")
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr
    for words in ("Logging error", "closed file", "Traceback", "Exception ignored"):
        assert words not in done.stdout + done.stderr, done.stderr[-3000:]


MEASURED = """
import multiprocessing, threading
import pytest
import oncelog

def in_a_child(servers, topic):
    with oncelog.Producer(bootstrap_servers=servers) as producer:
        producer.send_and_wait(topic, b"child")

@pytest.mark.parametrize("number", range(4))
def test_under_coverage(oncelog_broker, oncelog_topic, oncelog_faults, number):
    arguments = oncelog_broker.bootstrap_servers, oncelog_topic
    child = multiprocessing.get_context("fork").Process(target=in_a_child, args=arguments)
    with oncelog_faults.lose_answer("Produce", topic=oncelog_topic):
        child.start()
        child.join(120)
    assert child.exitcode == 0
    settings = {"bootstrap_servers": oncelog_broker.bootstrap_servers, "auto_offset_reset": "earliest"}
    with oncelog.Consumer(oncelog_topic, **settings) as consumer:
        assert consumer.getone().value == b"child"
"""


def test_tests_with_coverage_in_several_processes_do_not_hang(tmp_path: Path) -> None:
    """getsentry/relay#452 for confluentinc/confluent-kafka-python#265: forked children of xdist's workers, measured."""
    (tmp_path / ".coveragerc").write_text(
        "[run]\nbranch = true\nconcurrency = multiprocessing,thread\nparallel = true\n"
    )
    options = ("-n", "2", f"--cov={tmp_path}", "--cov-report=")
    done = suite(tmp_path, MEASURED, *options, ini="")
    assert "4 passed" in done.stdout, done.stdout + done.stderr


WAITING = """
import time
import pytest
import oncelog

@pytest.mark.parametrize("number", range(4))
def test_that_waits(oncelog_broker, oncelog_topic, number):
    with oncelog.Consumer(oncelog_topic, bootstrap_servers=oncelog_broker.bootstrap_servers, group_id="g") as consumer:
        print("waiting", flush=True)
        open(f"waiting-{number}", "w").close()
        consumer.getone()
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_ctrl_c_in_a_test_ends_the_run_without_noise(tmp_path: Path, workers: str) -> None:
    """confluentinc/confluent-kafka-python#209 and dpkp/kafka-python#2564: Ctrl-C and pytest-timeout cannot end a test
    that waits for a record."""
    (tmp_path / "test_users.py").write_text(WAITING)
    command = [*STRICT, "-n", workers, str(tmp_path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True
    )
    try:
        while len(list(tmp_path.glob("waiting-*"))) < max(1, int(workers)) and process.poll() is None:
            pass
        time.sleep(0.5)  # until it waits: while a call begins, Python may report a coroutine that was never awaited
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 2, out + err
    assert not re.search("Exception ignored|Logging error|was never awaited|ResourceWarning", out + err), out + err


def test_a_time_limit_ends_a_test_that_waits_for_a_record(tmp_path: Path) -> None:
    """dpkp/kafka-python#2564: "prevents pytest from completing, even with pytest-timeout"."""
    ini = (
        "timeout = 3\ntimeout_method = signal\ntimeout_func_only = true"  # a busy machine takes long to start a broker
    )
    done = suite(tmp_path, WAITING, "-k", "0 or 1", ini=ini)
    assert "2 failed" in done.stdout, done.stdout + done.stderr
    assert "Timeout" in done.stdout
