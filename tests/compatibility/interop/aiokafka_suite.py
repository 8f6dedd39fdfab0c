"""aiokafka's own tests on our client: ``make aiokafka``, or ``python -m tests.compatibility.interop.aiokafka_suite
[FOLDER [PYTEST OPTION ...]]``.

FOLDER is ``tests`` of a checkout of aiokafka 0.14.0, which git makes in ``.cache/interop`` if none is named: its
packages hold no tests. Those of its clients are copied there with each import of a name that ``oncelog.aiokafka`` has
taken from there and each look behind the public names replaced by what the public names tell (:data:`PUBLIC`), and
run on a broker of ours instead of a container. Exit status 1 if another test failed than those of
:data:`BEYOND`, or one of these passed: each looks at, or replaces, what is not public, or differs as the how-to says.
"""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.compatibility.interop import their_tests
from tests.compatibility.interop.their_tests import checkout, judge

REPOSITORY, RELEASE = "https://github.com/aio-libs/aiokafka", "v0.14.0"
CACHE = their_tests.CACHE / "aiokafka" / "from_aiokafka"
FILES = (
    "admin",
    "consumer",
    "pep492",
    "producer",
    "transactional_consumer",
    "transactional_producer",
)
BEYOND = {
    "attributes with an underscore": """
        test_consumer_compressed_returns_older_msgs test_consumer_invalid_crc_in_records
        test_consumer_propagates_commit_refresh_errors test_consumer_propagates_coordinator_errors
        test_consumer_propagates_heartbeat_errors test_kafka_consumer_sets_coordinator_values test_metadata
        test_producer_invalid_leader_retry_metadata test_producer_leader_change_preserves_order test_producer_notopic
        test_producer_send_empty_batch test_producer_sender_errors_propagate_to_producer
        test_producer_transactional_aborting_previous_failure test_producer_transactional_cancel_txn_methods
        test_producer_transactional_raise_out_of_sequence test_producer_transactional_restart_reaquire_pid
    """,
    "producer.client.send(), which our client does not have, replaced": """
        test_producer_correct_time_returned test_producer_indempotence_no_duplicates test_producer_send_error
        test_producer_send_reenque_resets_waiters test_producer_send_timeout
    """,
    "undocumented classes of aiokafka.consumer.fetcher and aiokafka.cluster replaced": """
        test_consumer_compacted_topic test_producer_send_leader_notfound
    """,
    "a seek waits for the Fetch that is under way at the log's end, and getmany() gives up before": """
        test_consumer_seek_backward test_consumer_seek_forward_getmany
    """,
    "position() of a partition that a rebalance takes away raises, instead of waiting for the next assignment": """
        test_consumer_position
    """,
}
PUBLIC = (
    (r"\[broker_id\] = admin\._client\.cluster\._brokers\.keys\(\)", "broker_id = 1"),
    (r"(?m)^( +)(with self\.count_fetch_requests\(consumer, 1\):)$", r"\1with contextlib.nullcontext():"),
    (r"await (\w+)\._subscription\.wait_for_assignment\(\)", r"await assigned(\1)"),
    (r"await producer\.client\._wait_on_metadata\((\w+)\)", r"await producer.partitions_for(\1)"),
    (r"await client\._wait_on_metadata\((\w+)\)", r"await created(self.hosts, \1)"),
    (r"consumer\._client\.cluster\.topics\(\)", "await consumer.topics()"),
    (r"await consumer\._client\.force_metadata_update\(\)", "await consumer.topics()"),
    (r"(?m)^ +self\.assert(Not)?In\(tp\d?, consumer\._fetcher\._records\)$", ""),
    (r"main_self\.assert(True|False)\(\s+self\.consumer\._coordinator\._rejoin_needed_fut\.done\(\)\s+\)", "pass"),
    (r"(?m)^ +assert consumer\d\._group_instance_id == .*$", ""),
    (r"(?m)^ +assert producer\._sender\._sender_task is not None$", ""),
    (r"assert producer\._closed", "with pytest.raises(ProducerClosed): await producer.send(self.topic, b'late')"),
    (r"(?m)^ +self\.assert\w+\(producer\.(_sender\._acks|_txn_manager)\b.*$", ""),
)
"""Looks behind the public names, and the public equivalent, or nothing if the rest of the test already checks it."""
HELPERS = """
import asyncio, contextlib
from oncelog.aiokafka.errors import ProducerClosed


async def assigned(consumer):
    while not consumer.assignment():
        await asyncio.sleep(0.01)


async def created(hosts, topic):
    async with AIOKafkaProducer(bootstrap_servers=hosts) as producer:
        await producer.partitions_for(topic)
"""
FIXTURES = """
import asyncio, gc, pathlib

import pytest

import oncelog
from tests.integration.security.certificates import Authority


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    authority = Authority(folder)
    authority.issue("client", password="abcdefgh")
    authority.certificate.rename(folder / "ca.crt")
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": authority.issue("server").store,
        "num.partitions": 2,
        "group.initial.rebalance.delay.ms": 0,
    }
    with oncelog.Broker(settings=settings) as running:
        running.certificates = folder
        yield running


@pytest.fixture(scope="class")
def setup_test_class(request, broker):
    made = request.cls
    made.loop = asyncio.new_event_loop()
    asyncio.set_event_loop(made.loop)
    made.hosts = [str(broker.addresses["PLAINTEXT"])]
    made.kafka_host, made.kafka_port = "127.0.0.1", broker.addresses["PLAINTEXT"].port
    made.kafka_ssl_port = broker.addresses["SSL"].port
    made.ssl_folder = broker.certificates
    made.kafka_version = "2.8.1"
    yield
    made.loop.close()
    gc.collect()
    asyncio.set_event_loop(None)
"""


def is_ours(module: str, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(f"oncelog.{module}"), name)
    except ImportError:
        return False


def with_our_imports(text: str) -> str:
    """The text of a test with the names that come from ``oncelog.aiokafka``."""
    lines = text.splitlines()
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    for node in sorted(imports, key=lambda found: -found.lineno):
        module = node.module or ""
        if module.partition(".")[0] != "aiokafka":
            continue
        own = [f"from oncelog.{module} import {item.name}" for item in node.names if is_ours(module, item.name)]
        theirs = [f"from {module} import {item.name}" for item in node.names if not is_ours(module, item.name)]
        lines[node.lineno - 1 : (node.end_lineno or 0)] = [" " * node.col_offset + line for line in own + theirs]
    public = "\n".join(lines) + "\n"
    for look, instead in PUBLIC:
        public = re.sub(look, instead, public)
    return public + HELPERS


def main(folder: Path, options: list[str]) -> int:
    shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True)
    for name in ("_testutil", *(f"test_{name}" for name in FILES)):
        (CACHE / f"{name}.py").write_text(with_our_imports((folder / f"{name}.py").read_text()))
    (CACHE / "__init__.py").touch()
    (CACHE / "conftest.py").write_text(FIXTURES)
    (CACHE / "pytest.ini").write_text("[pytest]\nmarkers =\n    ssl\n")
    report = CACHE / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=native",
        "-c",
        str(CACHE / "pytest.ini"),
        "--rootdir",
        str(CACHE),
    ]
    subprocess.run([*command, f"--junitxml={report}", str(CACHE), *options], cwd=Path(__file__).parents[3], check=False)
    beyond = {name for names in BEYOND.values() for name in names.split()}
    return judge(report, beyond, complete=not options)


if __name__ == "__main__":
    named = Path(sys.argv[1]) if len(sys.argv) > 1 else checkout(REPOSITORY, RELEASE, CACHE.parent) / "tests"
    sys.exit(main(named, sys.argv[2:]))
