"""The ways to start a registry: with an embedded broker, in pytest, by commands."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

import oncelog
from oncelog.errors import ConfigError, OncelogError
from tests.conftest import RunningBroker
from tests.integration.schema_registry.http_calls import call, register
from tests.support.both_brokers import EACH_BROKER


def test_an_embedded_broker_has_a_registry_that_survives_a_restart(tmp_path: Path) -> None:
    with oncelog.Broker(tmp_path, schema_registry=True) as broker:
        url = broker.schema_registry_url
        assert register(url, "x", '"string"').body["id"] == 1
        broker.restart()
        assert broker.schema_registry_url == url
        assert call(url, "GET", "/subjects/x/versions/latest").body["id"] == 1
        assert register(url, "x", '["null","string"]').body["id"] == 2
    with pytest.raises(OncelogError, match="schema_registry=True"):
        assert broker.schema_registry_url


def test_a_broker_with_a_login_starts_no_registry() -> None:
    settings = {"sasl.enabled.mechanisms": "SCRAM-SHA-256"}
    with (
        pytest.raises(ConfigError, match="oncelog schema-registry"),
        oncelog.Broker(schema_registry=True, listen="SASL_PLAINTEXT://127.0.0.1:0", settings=settings),
    ):
        pass


TESTS = """
import json, urllib.request
import pytest

def ask(url, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))

@pytest.mark.parametrize("round", [1, 2])
def test_each_test_begins_with_nothing(oncelog_schema_registry, round):
    assert ask(oncelog_schema_registry, "/subjects") == []
    assert ask(oncelog_schema_registry, "/subjects/x/versions", {"schema": '"string"'})["id"] == 1
    assert ask(oncelog_schema_registry, "/subjects") == ["x"]

def test_nothing_is_left(oncelog_broker):
    if hasattr(oncelog_broker, "data"):
        assert oncelog_broker.admin.list_topics() == []
"""


def _pytest(folder: Path, *options: str) -> str:
    (folder / "test_theirs.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_registry_fixture_is_empty_for_each_test(tmp_path: Path) -> None:
    assert "3 passed" in _pytest(tmp_path)


@EACH_BROKER
def test_the_registry_fixture_works_on_an_existing_cluster(tmp_path: Path, broker: RunningBroker) -> None:
    assert "3 passed" in _pytest(tmp_path, "--kafka-bootstrap-server", broker.bootstrap_servers)


@contextmanager
def _running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "oncelog", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


def _printed(process: subprocess.Popen[str], name: str) -> str:
    assert process.stdout is not None
    while True:
        line = process.stdout.readline()
        assert line, "it ended"
        found = json.loads(line)
        if name in found:
            return str(found[name])


@EACH_BROKER
def test_the_registry_command_runs_on_our_broker_and_on_apache_kafka(broker: RunningBroker, topic: str) -> None:
    options = ["--listen", "127.0.0.1:0", "--topic", topic, "--json"]
    with _running("schema-registry", "-b", broker.bootstrap_servers, *options) as process:
        url = _printed(process, "schema_registry")
        assert register(url, "x", '"string"').body["id"] == 1
    assert process.returncode == 0


def test_serve_starts_a_broker_and_a_registry() -> None:
    with _running("serve", "--listen", "127.0.0.1:0", "--schema-registry", "127.0.0.1:0", "--json") as process:
        url = _printed(process, "schema_registry")
        assert register(url, "x", '"string"').body["id"] == 1
    assert process.returncode == 0


def test_the_console_of_serve_decodes_by_its_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCELOG_SCHEMA_REGISTRY", "http://127.0.0.1:9")
    beside = ("--schema-registry", "127.0.0.1:0", "--console", "127.0.0.1:0")
    with _running("serve", "--listen", "127.0.0.1:0", *beside, "--json") as process:
        url = _printed(process, "schema_registry")
        console = _printed(process, "console")
        assert register(url, "of-the-registry-beside", '"string"').body["id"] == 1
        with urlopen(f"{console}/schemas", timeout=300) as answer:
            page = answer.read().decode()
    assert "of-the-registry-beside" in page
    assert process.returncode == 0


def test_a_console_runs_without_a_registry_that_cannot_listen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        registry = f"127.0.0.1:{taken.getsockname()[1]}"
        beside = ("--schema-registry", registry, "--console", "127.0.0.1:0")
        with _running("serve", "--listen", "127.0.0.1:0", *beside, "--json") as process:
            assert _printed(process, "console").startswith("http://127.0.0.1:")
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["schema-registry", "--listen", "0.0.0.0:0"], "listens on this machine only"),
        (["schema-registry", "--listen", "nowhere"], "is not an address"),
        (["schema-registry", "--tls-key", __file__, "--listen", "127.0.0.1:0"], "needs both a certificate"),
        (["serve", "--listen", "127.0.0.1:0", "--schema-registry", "0.0.0.0:0"], "listens on this machine alone"),
    ],
)
def test_a_registry_on_a_public_address_is_refused(arguments: list[str], why: str) -> None:
    command = [sys.executable, "-m", "oncelog", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 1
    assert why in ended.stderr
