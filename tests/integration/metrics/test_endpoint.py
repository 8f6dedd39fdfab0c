"""The endpoint: malformed requests, slow clients, and what it says about a broker that is unwell."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.metrics.endpoint import HealthVerdict
from oncelog.broker.server.disk.os_disk import OsFile
from oncelog.broker.server.opening import ListenError
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.errors import OncelogError, StorageError
from tests.integration.metrics.pages import get, health, scrape


@pytest.fixture(scope="module")
def broker() -> object:
    with oncelog.Broker(metrics="127.0.0.1:0") as running:
        yield running


def ask(broker: oncelog.Broker, request: bytes) -> bytes:
    """What the endpoint answers to these bytes; empty if it hangs up."""
    address = broker.metrics_address
    with socket.create_connection((address.host, address.port), timeout=120) as connection:
        connection.sendall(request)
        try:
            connection.shutdown(socket.SHUT_WR)
        except OSError as error:
            if error.errno != errno.ENOTCONN:  # the endpoint has hung up already
                raise
        return b"".join(iter(lambda: connection.recv(65536), b""))


def fill(broker: oncelog.Broker, topics: tuple[str, ...]) -> None:
    """Topics of one partition with one record."""
    with (
        Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
        RawConnection(broker.bootstrap_servers) as connection,
    ):
        admin.create_topics([NewTopic(topic, num_partitions=1) for topic in topics])
        for topic in topics:
            assert connection.produce(topic, batch(b"v")).error == 0


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /metrics HTTP/1.1\r\n\r\n", b"200"),
        (b"GET /metrics?name[]=up HTTP/1.0\r\nAccept: */*\r\n\r\n", b"200"),
        (b"GET / HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /../etc/passwd HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"),
        (b"\x00\x00\x00\x12\x00\x12\r\n\r\n", b"400"),
        (b"GET /metrics\r\n\r\n", b"400"),
    ],
)
def test_metrics_and_health_requests_are_answered(broker: oncelog.Broker, request_bytes: bytes, status: bytes) -> None:
    assert ask(broker, request_bytes).split(b" ")[1] == status


@pytest.mark.parametrize("request_bytes", [b"", b"GET /metrics", b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n"])
def test_a_malformed_request_closes_the_connection(broker: oncelog.Broker, request_bytes: bytes) -> None:
    with suppress(ConnectionError):
        assert ask(broker, request_bytes) == b""
    assert get(broker.metrics_address, "/health/live")[0] == 200


def test_a_head_request_is_answered_without_a_body(broker: oncelog.Broker) -> None:
    head, _, body = ask(broker, b"HEAD /metrics HTTP/1.1\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK") and body == b""


def test_silent_peers_do_not_lock_out_others(broker: oncelog.Broker) -> None:
    address = broker.metrics_address
    silent = [socket.create_connection((address.host, address.port)) for _ in range(40)]
    try:
        assert health(address, "ready") == (200, {"status": "ready"})
    finally:
        for connection in silent:
            connection.close()


def test_a_metrics_address_in_use_is_refused_and_the_data_folder_is_unlocked(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ListenError, match="in use"):
            oncelog.Broker(tmp_path, metrics=address).start()
    with oncelog.Broker(tmp_path):
        pass


def test_a_broker_without_metrics_explains_how_to_enable_them() -> None:
    with oncelog.Broker() as plain, pytest.raises(OncelogError, match="it with metrics="):
        _ = plain.metrics_address


def test_a_restarted_broker_serves_metrics_on_the_same_address_and_a_stop_frees_the_address(tmp_path: Path) -> None:
    broker = oncelog.Broker(tmp_path, metrics="127.0.0.1:0").start()
    address = broker.metrics_address
    broker.restart()
    assert broker.metrics_address == address
    assert scrape(address).value("oncelog_ready") == 1
    broker.stop()
    with pytest.raises(OSError):
        get(address, "/metrics")


def test_a_partition_stopped_by_its_disk_fails_readiness_but_not_liveness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        oncelog.Broker(tmp_path, metrics="127.0.0.1:0") as broker,
        RawConnection(broker.bootstrap_servers) as connection,
    ):
        fill(broker, ("sound", "broken"))
        write = OsFile.append

        def refuses(file: OsFile, buffers: object) -> None:
            if "broken" in file.path:
                raise StorageError(f"cannot append to {file.path}: Input/output error")
            write(file, buffers)  # type: ignore[arg-type]

        monkeypatch.setattr(OsFile, "append", refuses)
        connection.produce("broken", batch(b"v"))
        monkeypatch.undo()
        status, printed = health(broker.metrics_address, "ready")
        assert status == 503 and printed["status"] == "offline because of a failed disk"
        assert list(printed["partitions"]) == ["broken-0"] and "restart" in printed["todo"]
        assert health(broker.metrics_address, "live") == (200, {"status": "alive"})
        page = scrape(broker.metrics_address)
        assert page.value("oncelog_ready") == 0
        assert page.value("kafka_server_replicamanager_offlinereplicacount") == 1
        assert page.value("kafka_cluster_partition_underminisr", topic="broken") == 1
        assert page.value("kafka_cluster_partition_underminisr", topic="sound") == 0
        broker.restart()
        assert health(broker.metrics_address, "ready")[0] == 200


def test_health_endpoints_report_a_long_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from oncelog.broker.core.storage.log_manager import LogManager

    with oncelog.Broker(tmp_path, metrics="127.0.0.1:0") as broker:
        fill(broker, ("a", "b", "c"))
        address = broker.metrics_address
    opened: list[Any] = []
    reached, goes_on = threading.Event(), threading.Event()
    open_log = LogManager.open

    def slowly(*arguments: object) -> object:
        opened.append(None)
        if len(opened) == 2:
            reached.set()
            goes_on.wait(60)
        return open_log(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LogManager, "open", slowly)
    again = oncelog.Broker(tmp_path, metrics=str(address))
    starting = threading.Thread(target=again.start)
    starting.start()
    try:
        assert reached.wait(60)
        assert health(address, "live") == (200, {"status": "starting"})
        assert health(address, "ready") == (503, {"status": "starting", "partitions": 3, "opened": 1})
        page = scrape(address)
        assert page.value("oncelog_recovery_partitions") == 3
        assert page.value("oncelog_recovery_partitions_opened") == 1
        assert page.value("kafka_server_kafkaserver_brokerstate") == 2
    finally:
        goes_on.set()
        starting.join()
    assert health(address, "ready")[0] == 200
    again.stop()


def test_a_hanging_event_loop_fails_liveness(monkeypatch: pytest.MonkeyPatch) -> None:
    from oncelog.broker.metrics import broker_source

    monkeypatch.setattr(broker_source, "HANGS_S", 0.2)
    hold, holds = threading.Event(), threading.Event()
    with oncelog.Broker(metrics="127.0.0.1:0") as broker:
        assert broker._thread is not None
        broker._thread.loop.call_soon_threadsafe(lambda: (holds.set(), hold.wait(60)))
        assert holds.wait(60)
        status, printed = health(broker.metrics_address, "live")
        assert status == 503 and printed["status"] == "hangs"
        assert health(broker.metrics_address, "ready")[0] == 503
        hold.set()
        assert eventually(lambda: health(broker.metrics_address, "live")[0] == 200 or None)


def test_a_failing_metric_source_answers_500_and_the_next_scrape_is_served(caplog: pytest.LogCaptureFixture) -> None:
    from oncelog.broker.metrics.endpoint import Endpoint
    from oncelog.spark.pipeline.series import PipelineSource

    class Failing(PipelineSource):
        async def live(self) -> HealthVerdict:
            raise ZeroDivisionError

    endpoint = Endpoint(socket.create_server(("127.0.0.1", 0)), Failing(["p"]))
    endpoint.start()
    try:
        address = "{}:{}".format(*endpoint.address)
        assert get(address, "/health/live")[0] == 500
        assert "ZeroDivisionError" in caplog.text
        assert get(address, "/metrics")[0] == 200
    finally:
        endpoint.stop()


def test_a_stop_during_a_scrape_logs_no_error(caplog: pytest.LogCaptureFixture) -> None:
    from oncelog.broker.metrics.endpoint import Endpoint
    from oncelog.spark.pipeline.series import PipelineSource

    asked = threading.Event()

    class Endless(PipelineSource):
        async def live(self) -> HealthVerdict:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    endpoint = Endpoint(socket.create_server(("127.0.0.1", 0)), Endless(["p"]))
    endpoint.start()
    with socket.create_connection(endpoint.address, timeout=120) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\n\r\n")
        assert asked.wait(120)
        endpoint.stop()
        with suppress(ConnectionError):
            assert connection.recv(100) == b""
    assert caplog.text == ""


def test_an_answer_that_a_slow_peer_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    from oncelog.broker.metrics import endpoint as module
    from oncelog.broker.metrics.exposition import Exposition, ExpositionFormat
    from oncelog.spark.pipeline.series import PipelineSource

    class Large(PipelineSource):
        async def metrics(self, form: ExpositionFormat) -> Exposition:
            page = await super().metrics(form)
            name = next(iter(page._lines))
            page.lines(name).extend([f"{name} 1\n"] * 500_000)
            return page

    class Watched(module.Endpoint):
        async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            served.append(writer.get_extra_info("socket"))
            await super()._answer(reader, writer)

    served: list[socket.socket] = []
    monkeypatch.setattr(module, "ANSWER_S", 0.5)
    endpoint = Watched(socket.create_server(("127.0.0.1", 0)), Large(["p"]))
    endpoint.start()
    try:
        with socket.create_connection(endpoint.address, timeout=120) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            assert eventually(lambda: (served and served[0].fileno() == -1) or None)  # though nothing was read
    finally:
        endpoint.stop()


def test_a_health_check_that_has_timed_out_is_not_answered_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from oncelog.broker.metrics import broker_source

    monkeypatch.setattr(broker_source, "HANGS_S", 0.2)
    hold, holds = threading.Event(), threading.Event()
    with oncelog.Broker(metrics="127.0.0.1:0") as broker:
        assert broker._thread is not None
        broker._thread.loop.call_soon_threadsafe(lambda: (holds.set(), hold.wait(60)))
        assert holds.wait(60)
        assert health(broker.metrics_address, "live")[0] == 503
        hold.set()
        assert eventually(lambda: health(broker.metrics_address, "live")[0] == 200 or None)
    assert "InvalidStateError" not in caplog.text
