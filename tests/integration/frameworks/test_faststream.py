"""``examples/faststream_once.py``: consume, handle and publish are one transaction, whatever happens to the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oncelog.apps.proxy.proxy import FaultProxy
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from tests.conftest import RunningBroker
from tests.integration.client.reading import values
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.children import ends_with_us

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "faststream_once.py"
FAILING = ROOT / "tests" / "support" / "billing_that_fails.py"
TIMEOUT_S = 120


class Service:
    """Topics with orders, and processes that write their invoices."""

    def __init__(self, servers: str, proxied: str, name: str, log: Path) -> None:
        self._servers, self._log = servers, log
        self.orders, self.invoices = f"{name}-orders", f"{name}-invoices"
        self._environment = {
            **os.environ,
            "KAFKA_SERVERS": proxied,
            "ORDERS": self.orders,
            "INVOICES": self.invoices,
        }
        self._processes: list[subprocess.Popen[bytes]] = []
        self._count = 0
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic(self.orders, 1, 1), NewTopic(self.invoices, 1, 1)])

    def order(self, count: int) -> None:
        with Producer(bootstrap_servers=self._servers) as producer:
            for number in range(self._count, self._count + count):
                producer.send(self.orders, json.dumps({"number": number, "cents": 100}).encode())
        self._count += count

    def start(self, program: Path = EXAMPLE) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, str(program)], env=self._environment, cwd=ROOT, stdout=log, stderr=log
            )
        ends_with_us(process.pid)
        self._processes.append(process)
        return process

    def log(self) -> str:
        return self._log.read_text()

    def await_all(self) -> None:
        """Until there is an invoice for every order that was sent."""
        config = {"bootstrap_servers": self._servers, "isolation_level": "read_committed"}
        with Consumer(self.invoices, auto_offset_reset="earliest", **config) as consumer:  # type: ignore[arg-type]
            for _ in range(self._count):
                assert consumer.getone(timeout_ms=TIMEOUT_S * 1000) is not None, self.log()

    def check(self) -> None:
        """Every order has one invoice, in order, and its offset is committed."""
        self.await_all()
        found = [json.loads(value or b"") for value in values(self._servers, self.invoices)]
        assert found == [{"order": number, "cents": 119} for number in range(self._count)]

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait(TIMEOUT_S)


@pytest.fixture
def service(broker: RunningBroker, proxy: FaultProxy, unique_name: str, tmp_path: Path) -> Iterator[Service]:
    running = Service(broker.bootstrap_servers, proxy.bootstrap_servers, unique_name, tmp_path / "log")
    yield running
    running.close()


def stop(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> int:
    process.send_signal(how)
    return process.wait(TIMEOUT_S)


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "api",
    [
        "EndTxn",
        pytest.param("TxnOffsetCommit", marks=pytest.mark.soak),
        pytest.param("Produce", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("arrives", [False, True], ids=["before", "after"])
def test_a_process_killed_at_a_request_loses_and_duplicates_no_record(
    service: Service, proxy: FaultProxy, api: str, arrives: bool
) -> None:
    service.order(5)
    lose = proxy.faults.lose_answer if arrives else proxy.faults.lose_request
    with lose(api, times=None, skip=2) as fault:
        process = service.start()
        assert fault.wait(TIMEOUT_S)
        assert stop(process, signal.SIGKILL) == -signal.SIGKILL
    service.order(5)
    process = service.start()
    service.check()
    assert stop(process) == 0


@KAFKA_IN_SOAK
def test_a_record_whose_handler_raised_is_handled_again_and_its_first_output_stays_invisible(
    service: Service, broker: RunningBroker
) -> None:
    service.order(10)
    process = service.start(FAILING)
    service.check()
    assert stop(process) == 0
    written = [json.loads(value or b"")["order"] for value in _all_written(broker, service)]
    assert [written.count(number) for number in range(10)] == [2, 1, 1, 2, 1, 1, 2, 1, 1, 2]


def _all_written(broker: RunningBroker, service: Service) -> list[bytes | None]:
    return values(broker.bootstrap_servers, service.invoices, isolation="read_uncommitted")


@KAFKA_IN_SOAK
def test_a_run_that_is_stopped_and_started_continues_at_its_position(service: Service) -> None:
    for _ in range(2):
        service.order(20)
        process = service.start()
        service.await_all()
        assert stop(process) == 0
    service.check()


def test_a_paused_process_that_another_has_replaced_ends_and_duplicates_no_record(
    service: Service, proxy: FaultProxy
) -> None:
    service.order(5)
    with proxy.faults.lose_request("EndTxn", times=None, skip=2) as fault:
        paused = service.start()
        assert fault.wait(TIMEOUT_S)
        paused.send_signal(signal.SIGSTOP)
    second = service.start()
    service.await_all()
    paused.send_signal(signal.SIGCONT)
    service.order(5)
    assert paused.wait(TIMEOUT_S) == 1, service.log()
    assert "the transaction failed, and the service stops" in service.log()
    service.check()
    assert stop(second) == 0


def test_the_page_shows_the_example_unchanged() -> None:
    page = (ROOT / "docs" / "how-to" / "faststream.md").read_text(encoding="utf-8")
    assert f"```python\n{EXAMPLE.read_text(encoding='utf-8')}```\n" in page
