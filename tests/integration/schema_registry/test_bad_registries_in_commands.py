"""Commands and pipelines whose registry is away, refuses, hangs or lies: one line, exit status 1, nothing written."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import oncelog
from oncelog.schemas import AvroSerializer, SchemaRegistry
from tests.integration.cli.conftest import Outcome, call
from tests.integration.schema_registry.stand_in import JSON_ANSWER, Answer, StandIn, running

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
PIPELINE = """
[source]
topic = "orders"
format = "avro"
schema = "orders-value:1"

[query]
sql = "select id from source"

[sink]
topic = "copies"
"""


def lie(**fields: object) -> Answer:
    """A version as a registry answers, with these fields."""
    body = {"subject": "orders-value", "version": 1, "id": 1, "schema": json.dumps(ORDER), **fields}
    return 200, JSON_ANSWER, json.dumps(body).encode()


def slow(target: str) -> Answer:
    time.sleep(0.5)
    return lie()


BAD: list[tuple[str, Answer, str]] = [
    ("401", (401, {}, b""), "asks for a login"),
    ("500", (500, {}, b"oops\n  boom"), "answers with status 500, as no schema registry"),
    ("HTML", (200, {"Content-Type": "text/html"}, b"<html>\n<body>our portal"), "is not a schema registry"),
]
LIES: list[tuple[str, Answer, str]] = [
    ("another subject", lie(subject="customers-value"), "was asked for subject orders-value and answers with subject"),
    ("another version", lie(version=2), "was asked for orders-value version 1 and answers with version 2"),
    ("an id too large", lie(id=2**31), "no usable id: it is 2147483648, and records carry 0 to 2147483647"),
    ("no id", lie(id=None), "no usable id"),
    ("a schema that is none", lie(schema='{"type": "record"}'), "not an Avro schema"),
]
COMMANDS = [
    ("schemas", "list"),
    ("schemas", "show", "orders-value:1"),
    ("schemas", "show", "7"),
    ("schemas", "check", "orders-value", "FILE"),
    ("schemas", "register", "orders-value", "FILE"),
    ("schemas", "delete", "orders-value"),
    ("schemas", "diff", "orders-value:1"),
    ("consume", "-t", "orders", "-e"),
    ("produce", "-t", "orders", "--value-schema", "orders-value:1"),
    ("produce", "-t", "orders", "--key-schema", "latest"),
    ("pipeline", "run", "PIPELINE", "--once"),
]
NAMES = [" ".join(words[:3]) for words in COMMANDS]


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    """A broker with the topics."""
    with oncelog.Broker() as broker:
        for topic in ("orders", "copies"):
            call("topics", "create", topic, "--bootstrap-server", broker.bootstrap_servers).done()
        yield broker.bootstrap_servers


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands run in."""
    (tmp_path / "FILE.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "PIPELINE.toml").write_text(PIPELINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def give_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a registry has 0.2 s to answer, in which one that answers at once may fail on a busy machine."""
    defaults = SchemaRegistry.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "timeout_s", 0.2)


def refused(words: tuple[str, ...], url: str, servers: str) -> str:
    suffixes = {"FILE": "FILE.avsc", "PIPELINE": "PIPELINE.toml"}
    named = [suffixes.get(word, word) for word in words]
    cluster = [] if words[0] == "schemas" else ["--bootstrap-server", servers]
    ended: Outcome = call(*named, *cluster, "--schema-registry", url, stdin='{"id": 1}\n')
    assert (ended.code, ended.out) == (1, "")
    return ended.sentence()


@pytest.mark.parametrize("words", COMMANDS, ids=NAMES)
def test_an_unavailable_refusing_or_hanging_registry_is_reported_in_one_line(
    stand_in: StandIn, servers: str, files: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    for _, answer, printed in BAD:
        stand_in.misbehave = lambda target, answer=answer: answer  # type: ignore[misc]
        assert printed in refused(words, stand_in.url, servers)
    give_little_time(monkeypatch)
    stand_in.misbehave = slow
    assert "cannot be reached: no answer within 0.2 s" in refused(words, stand_in.url, servers)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{free.getsockname()[1]}"
        reported = refused(words, away, servers)
    assert f"the schema registry {away} cannot be reached" in reported


@pytest.mark.parametrize(("answer", "printed"), [case[1:] for case in LIES], ids=[case[0] for case in LIES])
@pytest.mark.parametrize("words", [COMMANDS[8], COMMANDS[10]], ids=[NAMES[8], NAMES[10]])
def test_an_answer_about_another_subject_is_refused(
    stand_in: StandIn, servers: str, files: Path, words: tuple[str, ...], answer: Answer, printed: str
) -> None:
    stand_in.misbehave = lambda target: answer
    if words[0] == "produce" and "no Avro" in printed:  # it fetches the schema by its id
        stand_in.misbehave = lambda target: answer if "/ids/" in target else lie()
    assert printed in refused(words, stand_in.url, servers)


def test_an_answer_about_another_id_is_refused(stand_in: StandIn) -> None:
    stand_in.misbehave = lambda target: lie(id=8)
    printed = call("schemas", "show", "7", "--schema-registry", stand_in.url).sentence()
    assert "was asked for schema id 7 and answers with schema id 8" in printed


def test_a_bearer_token_is_sent_to_a_registry_that_requires_it(stand_in: StandIn, servers: str, files: Path) -> None:
    """A server that checks the header, as an authorizing proxy before a registry does."""

    def answered(target: str) -> Answer | None:
        headers = stand_in.requests[-1][2]
        return None if headers.get("Authorization") == "Bearer s3cret" else (401, {"WWW-Authenticate": "Bearer"}, b"")

    stand_in.misbehave = answered
    with SchemaRegistry(stand_in.url, token="s3cret") as asked:
        assert AvroSerializer(asked, ORDER, topic="orders")({"id": 1}) == b"\0\0\0\0\x01\x02"
        assert asked.subjects() == ["orders-value"]
    Path("right").write_text(f"url={stand_in.url}\nbearer.auth.token=s3cret\n")
    Path("wrong").write_text(f"url={stand_in.url}\nbearer.auth.token=other\n")
    listed = call("schemas", "list", "--json", "--schema-registry-config", "right").done().json
    assert listed == [{"subject": "orders-value", "versions": [1]}]
    there = ("--bootstrap-server", servers)
    for words in (("schemas", "list"), ("pipeline", "run", "PIPELINE.toml", "--once", *there)):
        reported = call(*words, "--schema-registry-config", "wrong").sentence()
        assert "asks for a login" in reported
        assert "other" not in reported
