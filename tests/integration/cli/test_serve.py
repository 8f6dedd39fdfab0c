"""``oncelog serve``."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.integration.cli.conftest import ONCELOG, Serve, Served, run


def test_serve_prints_one_line_when_the_broker_listens(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [ONCELOG, "serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "data"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    address = line.removeprefix("oncelog listens on ").split(",")[0]
    assert line == f"oncelog listens on {address}, data in {tmp_path / 'data'}\n"
    run("topics", "create", "t", "--bootstrap-server", address).done()
    process.terminate()
    assert (process.wait(120), *process.communicate()) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_broker_cleanly_and_a_restart_has_all_data(
    serve: Serve, tmp_path: Path, number: signal.Signals
) -> None:
    broker = serve("--data", tmp_path)
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    broker.run("produce", "--topic", "t", stdin="a\nb\n").done()
    os.kill(broker.process.pid, number)
    assert broker.process.wait(120) == 0
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    again = serve("--data", tmp_path)
    assert again.run("consume", "--topic", "t", "--from-beginning", "--to-end").done().out == "a\nb\n"


def test_acknowledged_records_survive_a_kill(serve: Serve, tmp_path: Path) -> None:
    broker = serve("--data", tmp_path)
    broker.run("produce", "--topic", "t", stdin="a\nb\n").done()
    broker.process.kill()
    broker.process.wait(120)
    again = serve("--data", tmp_path)
    assert again.run("consume", "--topic", "t", "--from-beginning", "--to-end").done().out == "a\nb\n"


def test_the_command_line_overrides_broker_properties_of_a_file(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("num.partitions=5\nauto.create.topics.enable=false\n")
    broker = serve("--config", tmp_path / "server.properties", "--set", "num.partitions=3")
    broker.run("topics", "create", "t").done()
    (described,) = broker.run("topics", "describe", "t", "--json").done().json
    assert len(described["partitions"]) == 3
    assert broker.run("produce", "--topic", "other", stdin="v\n").code == 1


def test_serve_without_a_folder_keeps_everything_in_memory(served: Served) -> None:
    assert served.listening["data"] is None


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (("--set", "listeners=SSL://127.0.0.1:0"), "needs a key and a certificate"),
        (("--listen", "SASL_SSL://127.0.0.1:0"), "needs a key and a certificate"),
        (("--listen", "SASL_PLAINTEXT://127.0.0.1:0"), "SCRAM-SHA-512"),
        (("--listen", "CLIENTS://127.0.0.1:0"), "listener.security.protocol.map"),
        (("--listen", "SSL://"), "'SSL://' is not an address: write HOST:PORT"),
        (("--set", "listeners=SSL://"), "'SSL://' is not an address: write HOST:PORT"),
        (("--listen", ""), "name a listener"),
    ],
)
def test_a_listener_without_its_required_settings_is_refused(where: tuple[str, str], words: str) -> None:
    assert words in run("serve", *where).sentence()


def logged(broker: Served) -> dict[str, str]:
    """The next line of the broker's log."""
    assert broker.process.stderr is not None
    entry: dict[str, str] = json.loads(broker.process.stderr.readline())
    return entry


def test_sighup_rereads_changeable_settings_and_reports_the_others(serve: Serve, tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("log.retention.ms=100000\nnode.id=0\n")
    broker = serve("--config", config, "--log-format", "json")
    broker.run("topics", "create", "t").done()
    config.write_text("log.retention.ms=200000\nnode.id=7\n")
    os.kill(broker.process.pid, signal.SIGHUP)
    first, second = logged(broker), logged(broker)
    assert first["message"] == "settings reread; changed: log.retention.ms"
    assert set(first) == {"time", "level", "logger", "message"} and first["level"] == "warning"
    assert second["message"] == "only a restart changes these settings: node.id"
    described = broker.run("configs", "describe", "topic", "t", "--json").done().out
    assert "200000" in described and "100000" not in described
    config.write_text("log.retention.ms=soon\n")
    os.kill(broker.process.pid, signal.SIGHUP)
    assert "settings are unchanged" in logged(broker)["message"]
    assert "200000" in broker.run("configs", "describe", "topic", "t", "--json").done().out


def test_sighup_during_the_start_rereads_the_settings(tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    os.mkfifo(config)
    command = [sys.executable, "-m", "oncelog", "serve", "--listen", "127.0.0.1:0", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        with config.open("w") as settings:  # which waits until the settings are read
            process.send_signal(signal.SIGHUP)
            settings.write("log.retention.ms=100000\n")
        assert process.stdout.readline().startswith("oncelog listens on")
        with config.open("w") as settings:
            settings.write("log.retention.ms=200000\n")
        assert "settings reread; changed: log.retention.ms" in process.stderr.readline()
        process.terminate()
        assert process.wait(120) == 0


def test_a_service_manager_is_notified_of_start_and_stop(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        broker = serve()
        assert manager.recv(4096).startswith(b"READY=1\nSTATUS=listens on 127.0.0.1:")
        assert broker.stop().code == 0
        assert manager.recv(4096) == b"STOPPING=1"


def test_metrics_and_health_are_served_at_the_given_address(serve: Serve) -> None:
    broker = serve("--metrics", "127.0.0.1:0")
    with urllib.request.urlopen(f"http://{broker.listening['metrics']}/health/ready", timeout=120) as answer:
        assert json.load(answer) == {"status": "ready"}
    assert "is not an address" in run("serve", "--metrics", "nowhere").sentence()


def test_a_console_whose_port_is_taken_is_reported_in_one_sentence() -> None:
    """Python's own fatal error about the locked standard input followed; the broker serves without the console."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [str(ONCELOG), "console", "--listen", f"127.0.0.1:{port}", "--with-parent"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as console:
            assert console.stderr is not None
            printed = console.stderr.read()  # its standard input stays open, as that of a broker's console
    assert printed == f"oncelog: the console cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_with_log_format_json_every_line_of_stdout_and_stderr_is_json() -> None:
    command = [str(ONCELOG), "serve", "--log-format", "json", "--log-level", "debug", "--listen"]
    with subprocess.Popen(
        [*command, "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        lines: list[dict[str, str]] = []
        while not any("oncelog listens on" in line["message"] for line in lines):
            lines.append(json.loads(process.stdout.readline()))
        process.terminate()
        lines += map(json.loads, process.stdout)
    assert process.returncode == 0
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = subprocess.run(
            [*command, f"127.0.0.1:{taken.getsockname()[1]}"], capture_output=True, text=True, check=False
        )
    assert (refused.returncode, refused.stdout) == (1, "")
    reported = [json.loads(line) for line in refused.stderr.splitlines()]
    assert reported[-1]["level"] == "error" and "in use" in reported[-1]["message"].lower()


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [
        (["serve", "--nope"], "no such option '--nope'"),
        (["serve", "--nodes", "99"], "99 is not in the range"),
        (["serve", "more"], "unexpected extra argument"),
        (["serve", "--config", "missing.properties"], "does not exist"),
        (["console", "--listen"], "requires an argument"),
    ],
)
def test_with_log_format_json_wrong_usage_is_reported_as_json(wrong: list[str], reported: str) -> None:
    command = [str(ONCELOG), wrong[0], "--log-format=json", *wrong[1:]]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    (line,) = map(json.loads, refused.stderr.splitlines())
    assert set(line) == {"time", "level", "logger", "message"} and line["level"] == "error"
    assert reported in line["message"] and f"see oncelog {wrong[0]} --help" in line["message"].replace("See", "see")


def test_with_log_format_json_the_console_of_a_broker_logs_json() -> None:
    command = [str(ONCELOG), "serve", "--log-format", "json", "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0"]
    environment = {name: value for name, value in os.environ.items() if name != "ONCELOG_CONSOLE_TOKEN"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.terminate()
        lines += map(json.loads, process.stdout)
    assert all(set(line) == {"time", "level", "logger", "message"} for line in lines)
    printed = sorted(line["message"].split(" ")[0:2] for line in lines)
    assert printed == [["oncelog", "console:"], ["oncelog", "listens"], ["pipelines", "report"]]


def test_with_log_format_json_a_console_port_in_use_is_reported_as_json() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [str(ONCELOG), "console", "--listen", f"127.0.0.1:{port}", "--log-format", "json"]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    (line,) = map(json.loads, refused.stderr.splitlines())
    assert line["message"] == f"the console cannot listen on 127.0.0.1:{port}: Address already in use"


def test_a_file_of_users_that_is_not_text_is_refused(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_bytes(b"\xff\xfe")
    refused = run("serve", "--data", tmp_path / "data", "--add-scram", f"@{users}")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == f"oncelog: --add-scram @{users} cannot be read: it is not UTF-8 text\n"


def test_with_log_format_json_an_error_that_ends_a_thread_is_logged_as_json() -> None:
    program = (
        "import threading; from oncelog.broker.server.process.log_lines import log_to_stderr\n"
        "log_to_stderr('error', as_json=True)\n"
        "thread = threading.Thread(target=lambda: 1 / 0, name='ours'); thread.start(); thread.join()\n"
        "class Odd:\n    def __del__(self): raise ValueError('at the end')\n"
        "Odd()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    thread, finalizer = map(json.loads, ended.stderr.splitlines())
    assert "ZeroDivisionError" in thread["exception"] and "ours" in thread["message"]
    assert "at the end" in finalizer["exception"]


def test_with_log_format_json_an_uncaught_error_and_a_warning_are_logged_as_json() -> None:
    program = (
        "import warnings; from oncelog.broker.server.process.log_lines import log_to_stderr\n"
        "log_to_stderr('warning', as_json=True)\n"
        "warnings.warn('odd'); raise ValueError('broken')"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    warning, error = (json.loads(line) for line in ran.stderr.splitlines())
    assert "odd" in warning["message"] and "ValueError: broken" in error["exception"]
