"""Faults over HTTP and on the command line."""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer as ConfluentProducer

import oncelog
from oncelog.broker.faults.control import FaultControl
from oncelog.broker.faults.fault_texts import add_fault
from oncelog.broker.faults.rules import FaultError, Faults
from tests.integration.cli.conftest import call


@pytest.fixture
def control() -> Iterator[FaultControl]:
    running = FaultControl(Faults(), "127.0.0.1", 0)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def idle_control() -> Iterator[FaultControl]:
    """For tests that inject no fault."""
    running = FaultControl(Faults(), "127.0.0.1", 0)
    yield running
    running.stop()


def ask(address: str, path: str, method: str = "GET", body: object = None) -> tuple[int, Any]:
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(f"http://{address}{path}", data=data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_a_fault_is_created_listed_and_removed(control: FaultControl) -> None:
    status, made = ask(control.address, "/faults", "POST", {"fault": "lose_answer Produce topic=orders times=always"})
    assert (status, made["id"], made["hits"]) == (200, 1, 0)
    status, made = ask(control.address, "/faults", "POST", {"kind": "delay", "ms": 20, "api": "Fetch"})
    assert (status, made["id"]) == (200, 2)
    assert ask(control.address, "/faults/1", "DELETE")[0] == 200
    assert [fault["in_force"] for fault in ask(control.address, "/faults")[1]] == [False, True]
    assert ask(control.address, "/faults/2?hits=1&timeout=0.01")[0] == 408
    assert ask(control.address, "/faults", "DELETE")[0] == 200
    assert [fault["in_force"] for fault in ask(control.address, "/faults")[1]] == [False, False]


@pytest.mark.parametrize(
    ("path", "body", "status", "complaint"),
    [
        ("/faults", {"fault": "loose_answer Produce"}, 400, "did you mean lose_answer?"),
        ("/faults", {"fault": "delay soon Fetch"}, 400, "ms is a number, not 'soon'"),
        ("/faults", {"fault": "lose_answer Produce Fetch"}, 400, "takes no further positional argument"),
        ("/faults", {"kind": "delay", "api": "Fetch"}, 400, "cannot be created from"),
        ("/faults", {"kind": "delay", "ms": 20, "api": 5}, 400, "an API is named"),
        ("/faults", {"kind": "delay", "ms": 10**400, "api": "Fetch"}, 400, "a delay is at most 86400000 ms (a day)"),
        ("/faults", {"kind": "lose_answer", "api": ["Produce"]}, 400, "api is a name or a number"),
        ("/faults", {"kind": "lose_answer", "seed": 7}, 400, "the seed 7 has no effect"),
        ("/faults", {"kind": "lose_answer", "seed": "x", "probability": 0.5}, 400, "a seed is a whole number"),
        ("/faults", {"fault": "lose_answer Produce", "topic": "orders"}, 400, 'topic beside "fault" has no effect'),
        ("/faults", {"fault": "lose_answer Produce api=Fetch"}, 400, "api is given twice"),
        ("/faults", ["x"], 400, 'send {"fault"'),
        ("/faults/1", {"fault": "lose_answer Produce"}, 404, "ask /faults or /deeds"),
        ("/nothing", {}, 404, "ask /faults"),
    ],
)
def test_an_invalid_fault_is_refused(
    path: str, body: object, status: int, complaint: str, idle_control: FaultControl
) -> None:
    answered, reported = ask(idle_control.address, path, "POST", body)
    assert (answered, complaint in reported["error"]) == (status, True), reported
    assert ask(idle_control.address, "/faults") == (200, [])


@pytest.mark.parametrize(
    ("method", "path", "status", "complaint"),
    [
        ("GET", "/faults/1?hits=1&timeout=nan", 400, "timeout is a number of seconds from 0 to 3600, not 'nan'"),
        ("GET", "/faults/1?hits=1&timeout=1e300", 400, "timeout is a number of seconds"),
        ("GET", "/faults/1?hits=some", 400, "hits is a whole number of at least 1, not 'some'"),
        ("GET", "/faults/1?hit=1", 400, "not hit"),
        ("GET", "/faults/first", 400, "the number of a fault is a whole number"),
        ("GET", "/faults/2", 400, "there is no fault 2"),
        ("DELETE", "/faults/1_0", 400, "the number of a fault is a whole number"),
        ("PUT", "/faults/1", 501, "use GET, POST or DELETE"),
        ("GET", "/" + "x" * 70_000, 414, "use GET"),
    ],
)
def test_an_invalid_request_is_reported(
    method: str, path: str, status: int, complaint: str, idle_control: FaultControl
) -> None:
    answered, reported = ask(idle_control.address, path, method)
    assert (answered, complaint in reported["error"]) == (status, True), reported


HEAD = b"POST /faults HTTP/1.1\r\nHost: localhost\r\n"
LENGTH = HEAD + b"Content-Length: %d\r\n\r\n%b"


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "Content-Length, not in chunks"),
        (HEAD + b"Content-Length: soon\r\n\r\n{}", "Content-Length is a whole number"),
        (HEAD + b"Content-Length: -5\r\n\r\n{}", "Content-Length is a whole number"),
        (LENGTH % (10**9, b"{}"), "send at most 65536"),
        (LENGTH % (100, b'{"fault'), "not valid JSON"),
        (LENGTH % (60_000, b"[" * 60_000), "not valid JSON"),
        (LENGTH % (12, b'{"fault":"\xff'), "not valid JSON"),
        (b"\x00\x01\x02\r\n\r\n", "Bad request syntax"),
    ],
    ids=["chunks", "length", "negative", "huge", "half", "nested", "no text", "garbage"],
)
def test_a_body_that_cannot_be_read_is_reported(sent: bytes, complaint: str, idle_control: FaultControl) -> None:
    host, port = idle_control.address.split(":")
    with socket.create_connection((host, int(port)), 60) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert complaint in json.loads(answer[answer.index(b"{") :])["error"]
    assert idle_control.all() == []


def test_a_client_that_disconnects_before_the_answer_logs_no_exception(
    control: FaultControl, capsys: pytest.CaptureFixture[str]
) -> None:
    host, port = control.address.split(":")
    fault = control.add({"fault": "lose_answer Produce"})
    for sent in (
        LENGTH % (100, b"{"),
        b"GET /faults/%d?hits=1&timeout=0.2 HTTP/1.0\r\nHost: localhost\r\n\r\n" % fault["id"],
    ):
        connection = socket.create_connection((host, int(port)), 60)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(sent)
        connection.close()
    assert ask(control.address, "/faults/1?hits=1&timeout=0.5")[0] == 408
    assert "Exception" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Host": "rebound.example:80"},
        {"Host": "127.0.0.1.example"},
        {"Host": "[::1"},
    ],
)
def test_web_pages_of_other_sites_cannot_create_faults(idle_control: FaultControl, headers: dict[str, str]) -> None:
    """Browsers let any page send a POST to this machine, and a page whose name resolves to it can read the answers,
    too.
    """
    asked = urllib.request.Request(
        f"http://{idle_control.address}/faults",
        b'{"fault": "lose_answer Produce"}',
        {"Content-Type": "text/plain", **headers},
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=60)
    assert refused.value.code == 403
    assert idle_control.all() == []


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.skipif(not _has_ipv6(), reason="this machine has no IPv6 loopback")
def test_the_fault_control_address_can_be_ipv6() -> None:
    running = FaultControl(Faults(), "::1", 0)
    try:
        assert running.address.startswith("[::1]:")
        assert ask(running.address, "/faults") == (200, [])
    finally:
        running.stop()


def test_the_fault_control_port_accepts_only_local_connections() -> None:
    with pytest.raises(FaultError, match="not a loopback address"):
        FaultControl(Faults(), "0.0.0.0", 0)


@pytest.mark.parametrize(
    "text",
    [
        "lose_request",
        "cut_connection after Produce",
        "answer_error EndTxn NOT_COORDINATOR times=2",
        "throttle 50 Produce probability=0.5 seed=7",
        "blackhole web",
        "duplicate api=Produce partition=3",
    ],
)
def test_the_control_api_lists_every_kind_of_fault(text: str) -> None:
    assert add_fault(Faults(), text).hits == 0


def test_the_faults_command_proxies_a_broker(oncelog_broker: oncelog.Broker, unique_name: str) -> None:
    command = [sys.executable, "-m", "oncelog", "proxy", "--to", oncelog_broker.bootstrap_servers, "--json"]
    command += ["--control", "127.0.0.1:0", "--fault", f"lose_answer Produce topic={unique_name}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        place = json.loads(process.stdout.readline())
        with oncelog.Producer(bootstrap_servers=place["listening"]) as producer:
            assert producer.send_and_wait(unique_name, b"x").offset == 0
        assert ask(place["control"], "/faults") == (200, [])
        process.send_signal(signal.SIGINT)
        reported = json.loads(process.stdout.read())
        assert process.wait(120) == 130
    assert reported == {"struck": [f"lose_answer (Produce, topic {unique_name}) struck 1 time"]}


def test_the_terminated_command_reports_the_faults_that_struck(oncelog_broker: oncelog.Broker) -> None:
    command = [sys.executable, "-m", "oncelog", "proxy", "--to", oncelog_broker.bootstrap_servers]
    command += ["--fault", "delay 1 Fetch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert "listens on" in process.stdout.readline()
        process.terminate()
        reported = process.stderr.read()
        assert process.wait(120) == 143
    assert "struck 0 times" in reported


def test_a_wrong_fault_is_refused_before_the_proxy_listens() -> None:
    outcome = call("proxy", "--to", "127.0.0.1:1", "--fault", "lose_answer Prodcue")
    assert (outcome.code, outcome.err) == (1, "oncelog: there is no API 'Prodcue'; did you mean Produce?\n")


def test_oncelog_serve_accepts_faults_and_actions_over_http(tmp_path: Path) -> None:
    """``oncelog serve --faults``: what tests in any language do, here with Python's HTTP client."""
    command = [sys.executable, "-m", "oncelog", "serve", "--listen", "127.0.0.1:0", "--nodes", "3", "--json"]
    command += ["--data", str(tmp_path), "--faults", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        reported = json.loads(process.stdout.readline())
        servers, control = reported["listening"], f"http://{reported['faults']}"

        def post(path: str, value: dict[str, object]) -> dict[str, object]:
            request = urllib.request.Request(control + path, json.dumps(value).encode(), method="POST")
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)  # type: ignore[no-any-return]

        producer = ConfluentProducer({"bootstrap.servers": servers, "transactional.id": "orders"})
        producer.init_transactions(120)
        post("/faults", {"fault": "crash_coordinator prepare transactional_id=orders"})
        producer.begin_transaction()
        producer.produce("t", b"a")
        producer.commit_transaction(120)
        with urllib.request.urlopen(f"{control}/faults/1?hits=1&timeout=30", timeout=60) as answer:
            assert json.load(answer)["hits"] == 1
        assert post("/deeds", {"kind": "kill_node", "node_id": 2}) == {"done": None}
        assert post("/deeds", {"deed": "start_node 2"}) == {"done": None}
        assert post("/deeds", {"deed": "stop_node 1"}) == {"done": None}
        assert post("/deeds", {"deed": "start_node 1"}) == {"done": None}
        assert post("/deeds", {"deed": "move_coordinator 3 transactional_id=orders"}) == {"done": None}
        with pytest.raises(urllib.error.HTTPError) as refused:
            post("/deeds", {"deed": "expire_transaction orders"})
        assert "has no open transaction" in json.load(refused.value)["error"]
        for wrong in ("2", 2.5, True, -1):
            with pytest.raises(urllib.error.HTTPError) as refused:
                post("/deeds", {"kind": "kill_node", "node_id": wrong})
            assert "node_id is a whole number of at least 0, not" in json.load(refused.value)["error"]
        with pytest.raises(urllib.error.HTTPError) as refused:
            post("/deeds", {"deed": "expire_tranaction orders"})
        assert "did you mean expire_transaction?" in json.load(refused.value)["error"]
    finally:
        process.terminate()
        process.wait(120)
