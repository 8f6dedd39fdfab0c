"""What a first broker in memory and a first producer load: every module costs time in each test run with one."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

import pytest

COUNTED = """
import atexit, json, sys, threading
before, calls = set(sys.modules), 0

def called(frame, event, argument):
    global calls
    calls += event in ("call", "c_call") and frame.f_globals.get("__name__", "").startswith("oncelog")

def report():
    sys.setprofile(None)
    print(json.dumps([calls, sorted(set(sys.modules) - before)]))

atexit.register(report)
threading.setprofile(called)
sys.setprofile(called)
{code}
"""
START = "with oncelog.Broker(): pass"
WITH_FEW_DESCRIPTORS = "with oncelog.Broker() as broker: broker.on_loop(lambda nodes: nodes.server.broker.import_all())"
CLASSES = "oncelog.Broker; oncelog.Producer"
PRODUCER = "oncelog.Producer()"
PLUGIN = "import pytest; before = set(sys.modules); import oncelog.pytest_plugin"
"""Pytest itself is there already."""

FOR_A_DATA_FOLDER = [
    "ctypes",
    "oncelog.broker.metadata.adoption",
    "oncelog.broker.server.disk.os_disk",
    "oncelog.broker.server.disk.folder_lock",
    "oncelog.broker.server.disk.reserving",
    "pathlib",
    "shutil",
]
FOR_LOGINS = [
    "hashlib",
    "hmac",
    "oncelog.broker.core.login.sasl_authenticator",
    "oncelog.broker.core.login.sasl_mechanisms",
    "oncelog.broker.metadata.first_users",
]
FOR_SEVERAL_NODES = ["oncelog.broker.core.cluster.cluster", "oncelog.broker.server.nodes"]
FOR_FAULTS = ["oncelog.broker.faults"]
FOR_COORDINATORS = ["oncelog.broker.coordinator.group", "oncelog.broker.coordinator.transaction"]
FOR_QUOTAS = ["oncelog.broker.core.limits.throttle"]
FOR_METRICS = ["http.server", "oncelog.broker.core.requests.request_metrics", "oncelog.broker.metrics.broker_source"]
FOR_TOPICS = [
    "cramjam",
    "oncelog.broker.core.appending.pipeline",
    "oncelog.broker.core.appending.produce_runs",
    "oncelog.broker.core.fetching.fetch_sessions",
    "oncelog.broker.core.coordination.repeated_commits",
    "oncelog.broker.log.compaction",
    "oncelog.broker.log.partition_log",
    "oncelog.protocol.fetch_fast",
    "oncelog.protocol.produce_fast",
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
    "oncelog.broker.core",
    "oncelog.broker.log",
    "oncelog.broker.server",
]
FOR_A_START = [
    "oncelog.broker.core.broker",
    "oncelog.client.aio.producer.producer",
    "oncelog.broker.log",
    "oncelog.broker.metadata",
    "oncelog.records.batch",
    "oncelog.broker.server.opening",
    "oncelog.broker.server.server",
]


class Cost(NamedTuple):
    """What a new process does, which no load on the machine changes."""

    calls: int
    """Of and by oncelog's functions and modules."""
    modules: Sequence[str]
    """Those that it loads besides what every process has there."""


def loaded(code: str) -> Sequence[str]:
    return cost(code).modules


def cost(code: str) -> Cost:
    done = subprocess.run(
        [sys.executable, "-c", COUNTED.format(code=f"import oncelog\n{code}")],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


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
def test_a_broker_in_memory_starts_and_stops_without_importing_unneeded_modules(
    module: str, of_a_start: Sequence[str]
) -> None:
    assert module not in of_a_start


def test_a_broker_in_memory_imports_the_modules_that_it_needs(of_a_start: Sequence[str]) -> None:
    assert {"oncelog.broker.core.broker", "oncelog.broker.server.server", "oncelog.broker.metadata.store"} <= set(
        of_a_start
    )


@pytest.fixture(scope="module")
def of_few_descriptors() -> Sequence[str]:
    return loaded(WITH_FEW_DESCRIPTORS)


@pytest.mark.parametrize("module", [*FOR_COORDINATORS, *FOR_QUOTAS, *FOR_TOPICS])
def test_a_broker_with_few_descriptors_imports_its_modules_at_the_start(
    module: str, of_few_descriptors: Sequence[str]
) -> None:
    assert module in of_few_descriptors


@pytest.fixture(scope="module")
def of_the_classes() -> Sequence[str]:
    return loaded(CLASSES)


@pytest.mark.parametrize("module", FOR_A_START)
def test_importing_broker_and_producer_imports_no_unneeded_modules(module: str, of_the_classes: Sequence[str]) -> None:
    assert module not in of_the_classes


@pytest.fixture(scope="module")
def of_a_producer() -> Sequence[str]:
    return loaded(PRODUCER)


@pytest.mark.parametrize("module", FOR_OTHER_CLIENTS)
def test_a_new_producer_imports_no_unneeded_modules(module: str, of_a_producer: Sequence[str]) -> None:
    assert module not in of_a_producer


def test_a_new_producer_imports_no_group_messages(of_a_producer: Sequence[str]) -> None:
    """A message is imported with the first request or answer of its API, except those in which a client builds them."""
    messages = {name.removeprefix("oncelog.protocol.generated.") for name in of_a_producer}
    groups = {"join_group", "sync_group", "heartbeat", "leave_group", "consumer_group_heartbeat", "offset_fetch"}
    assert not {f"{api}_{kind}" for api in groups for kind in ("request", "response")} & messages


SERVED = """
sys.argv[1:] = ["serve", "--listen", "127.0.0.1:0", "--data", {data!r}]
from oncelog.cli import run
run()
"""
API_VERSIONS = bytes.fromhex("0000000e 0012 0000 00000001 0004") + b"test"


@pytest.fixture(scope="module")
def of_first_answer(tmp_path_factory: pytest.TempPathFactory) -> Cost:
    """``oncelog serve`` with a new data folder, until it has answered once and stopped."""
    code = COUNTED.format(code=SERVED.format(data=str(tmp_path_factory.mktemp("data"))))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        host, port = process.stdout.readline().removeprefix("oncelog listens on ").split(",")[0].split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(API_VERSIONS)
            assert connection.recv(4096)
        process.terminate()
        return Cost(*json.loads(process.stdout.readline()))


@pytest.mark.parametrize(
    "module",
    [
        *("cramjam", "ctypes", "oncelog.broker.core.security.refusals", "oncelog.broker.metadata.adoption"),
        *("oncelog.protocol.produce_fast", "oncelog.records", "pathlib", "shutil", "urllib"),
    ],
)
def test_the_first_answer_of_a_new_data_folder_imports_no_unneeded_modules(module: str, of_first_answer: Cost) -> None:
    assert module not in of_first_answer.modules
    assert "oncelog.broker.server.disk.os_disk" in of_first_answer.modules


class Most(NamedTuple):
    """Bounds of a cost, some hundredths above what it was; who exceeds one looks for what can be imported later."""

    calls: int
    """A start with a clock that moved calls three functions more; each random id that begins with ``-``, one in 64,
    calls seven."""
    own: int
    """Modules of oncelog."""
    modules: int
    """All modules. Python's own differ from version to version, by a tenth."""


FIRST_STEPS = {
    CLASSES: Most(700, 42, 138),
    START: Most(2780, 116, 228),
    PLUGIN: Most(10, 1, 1),
}


def _check(found: Cost, most: Most) -> None:
    own = sum(name.partition(".")[0] == "oncelog" for name in found.modules)
    counted = Most(found.calls, own, len(found.modules))
    assert all(count <= bound for count, bound in zip(counted, most, strict=True)), counted


@pytest.mark.parametrize("code", FIRST_STEPS)
def test_first_uses_of_a_client_call_and_import_no_more_than_recorded(code: str) -> None:
    _check(cost(code), FIRST_STEPS[code])


def test_a_first_answer_calls_and_imports_no_more_than_recorded(of_first_answer: Cost) -> None:
    _check(of_first_answer, Most(3500, 132, 266))


SERVE = "from oncelog.cli.main import command; command.get_command(command.make_context('oncelog', ['serve']), 'serve')"


@pytest.fixture(scope="module")
def of_serve() -> Sequence[str]:
    return loaded(SERVE)


@pytest.mark.parametrize("module", ["oncelog.cli.shared.options", "oncelog.client", "pathlib", "urllib.parse"])
def test_the_command_serve_imports_no_unneeded_modules(module: str, of_serve: Sequence[str]) -> None:
    assert module not in of_serve
    assert "oncelog.cli.programs.serve" in of_serve
