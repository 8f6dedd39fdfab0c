"""What a first broker in memory and a first producer load: every module costs time in each test run with one."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Sequence

import pytest

LOADED = """
import json, sys
before = set(sys.modules)
import oncelog
{code}
print(json.dumps(sorted(set(sys.modules) - before)))
"""
START = "with oncelog.Broker(): pass"
WITH_FEW_DESCRIPTORS = "with oncelog.Broker() as broker: broker.on_loop(lambda nodes: nodes.server.broker.import_all())"
CLASSES = "oncelog.Broker; oncelog.Producer"
PRODUCER = "oncelog.Producer()"

FOR_A_DATA_FOLDER = [
    "ctypes",
    "oncelog.metadata.adoption",
    "oncelog.server.disk.os_disk",
    "oncelog.server.disk.folder_lock",
    "oncelog.server.disk.reserving",
    "pathlib",
    "shutil",
]
FOR_LOGINS = [
    "hashlib",
    "hmac",
    "oncelog.broker.login.sasl_gate",
    "oncelog.broker.login.sasl_mechanisms",
    "oncelog.metadata.first_users",
]
FOR_SEVERAL_NODES = ["oncelog.broker.cluster.cluster", "oncelog.server.nodes"]
FOR_FAULTS = ["oncelog.faults"]
FOR_COORDINATORS = ["oncelog.coordinator.group", "oncelog.coordinator.transaction"]
FOR_QUOTAS = ["oncelog.broker.limits.throttle"]
FOR_METRICS = ["http.server", "oncelog.broker.requests.request_metrics", "oncelog.metrics.broker_source"]
FOR_TOPICS = [
    "cramjam",
    "oncelog.broker.appending.pipeline",
    "oncelog.broker.appending.produce_runs",
    "oncelog.broker.fetching.fetch_sessions",
    "oncelog.broker.requests.repeated_requests",
    "oncelog.log.compaction",
    "oncelog.log.partition_log",
    "oncelog.protocol.fetch_fast",
    "oncelog.records",
]
FOR_OTHERS = ["click", "ipaddress", "oncelog.client", "urllib.parse"]


FOR_OTHER_CLIENTS = [
    "hashlib",
    "hmac",
    "oncelog.client.aio.admin.admin",
    "oncelog.client.aio.consumer.consumer",
    "oncelog.client.aio.connection.sasl",
    "oncelog.client.aio.connection.tls",
    "oncelog.client.aio.connection.tokens",
    "oncelog.broker",
    "oncelog.log",
    "oncelog.server",
]
FOR_A_START = [
    "oncelog.broker.broker",
    "oncelog.client.aio.producer.producer",
    "oncelog.log",
    "oncelog.metadata",
    "oncelog.records.batch",
    "oncelog.server.opening",
    "oncelog.server.server",
]


def loaded(code: str) -> Sequence[str]:
    """The modules that ``code`` loads in a new process, besides those that every process there has."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(code=code)], check=True, capture_output=True, text=True, timeout=60
    )
    modules: list[str] = json.loads(done.stdout)
    return modules


@pytest.fixture(scope="module")
def of_a_start() -> Sequence[str]:
    return loaded(START)


@pytest.mark.parametrize(
    "module",
    [
        *FOR_A_DATA_FOLDER,
        *FOR_LOGINS,
        *FOR_SEVERAL_NODES,
        *FOR_FAULTS,
        *FOR_METRICS,
        *FOR_TOPICS,
        *FOR_COORDINATORS,
        *FOR_QUOTAS,
        *FOR_OTHERS,
    ],
)
def test_a_broker_in_memory_starts_and_stops_without(module: str, of_a_start: Sequence[str]) -> None:
    assert module not in of_a_start


def test_a_broker_in_memory_loads_what_it_runs_with(of_a_start: Sequence[str]) -> None:
    assert {"oncelog.broker.broker", "oncelog.server.server", "oncelog.metadata.store"} <= set(of_a_start)


@pytest.fixture(scope="module")
def of_few_descriptors() -> Sequence[str]:
    return loaded(WITH_FEW_DESCRIPTORS)


@pytest.mark.parametrize("module", [*FOR_COORDINATORS, *FOR_QUOTAS, *FOR_TOPICS])
def test_a_broker_that_may_open_no_file_later_imports(module: str, of_few_descriptors: Sequence[str]) -> None:
    assert module in of_few_descriptors


@pytest.fixture(scope="module")
def of_the_classes() -> Sequence[str]:
    return loaded(CLASSES)


@pytest.mark.parametrize("module", FOR_A_START)
def test_importing_broker_and_producer_does_not_import(module: str, of_the_classes: Sequence[str]) -> None:
    assert module not in of_the_classes


@pytest.fixture(scope="module")
def of_a_producer() -> Sequence[str]:
    return loaded(PRODUCER)


@pytest.mark.parametrize("module", FOR_OTHER_CLIENTS)
def test_a_new_producer_does_not_import(module: str, of_a_producer: Sequence[str]) -> None:
    assert module not in of_a_producer


def test_a_new_producer_imports_no_messages_of_groups(of_a_producer: Sequence[str]) -> None:
    """A message is imported with the first request or answer of its API, except those in which a client builds them."""
    messages = {name.removeprefix("oncelog.protocol.generated.") for name in of_a_producer}
    groups = {"join_group", "sync_group", "heartbeat", "leave_group", "consumer_group_heartbeat", "offset_fetch"}
    assert not {f"{api}_{kind}" for api in groups for kind in ("request", "response")} & messages


SERVED = """
import atexit, json, sys
before = set(sys.modules)
atexit.register(lambda: print(json.dumps(sorted(set(sys.modules) - before))))
sys.argv[1:] = ["serve", "--listen", "127.0.0.1:0", "--data", {data!r}]
from oncelog.cli import run
run()
"""
API_VERSIONS = bytes.fromhex("0000000e 0012 0000 00000001 0004") + b"test"


@pytest.fixture(scope="module")
def of_first_answer(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """What ``oncelog serve`` loads with a new data folder until it has answered once and stopped."""
    code = SERVED.format(data=str(tmp_path_factory.mktemp("data")))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        host, port = process.stdout.readline().removeprefix("oncelog listens on ").split(",")[0].split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(API_VERSIONS)
            assert connection.recv(4096)
        process.terminate()
        modules: list[str] = json.loads(process.stdout.readline())
    return modules


@pytest.mark.parametrize(
    "module", ["cramjam", "ctypes", "oncelog.metadata.adoption", "oncelog.records", "pathlib", "shutil", "urllib"]
)
def test_the_first_answer_of_a_new_data_folder_needs_not(module: str, of_first_answer: Sequence[str]) -> None:
    assert module not in of_first_answer
    assert "oncelog.server.disk.os_disk" in of_first_answer


SERVE = "from oncelog.cli.main import command; command.get_command(command.make_context('oncelog', ['serve']), 'serve')"


@pytest.fixture(scope="module")
def of_serve() -> Sequence[str]:
    return loaded(SERVE)


@pytest.mark.parametrize("module", ["oncelog.cli.shared.options", "oncelog.client", "pathlib", "urllib.parse"])
def test_the_command_serve_does_not_import(module: str, of_serve: Sequence[str]) -> None:
    assert module not in of_serve
    assert "oncelog.cli.programs.serve" in of_serve
