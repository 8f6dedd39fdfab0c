"""Several registries on one cluster, registries that are killed, and a topic that Confluent's registry wrote."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from threading import Thread
from typing import Any

import pytest

from oncelog import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.schema_registry.conftest import Start
from tests.integration.schema_registry.http_calls import avro, call, register
from tests.support.both_brokers import EACH_BROKER

pytestmark = EACH_BROKER
COMPACTED = {"cleanup.policy": "compact"}


def stored(broker: RunningBroker, topic: str) -> list[tuple[Any, Any]]:
    """The topic's records as a reader that does not look at transactions sees them."""
    with Consumer(
        bootstrap_servers=broker.bootstrap_servers, isolation_level="read_uncommitted", auto_offset_reset="earliest"
    ) as consumer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        found = []
        while consumer.position(partition) < end:
            found += [record for records in consumer.getmany(timeout_ms=1000).values() for record in records]
    return [(json.loads(one.key or b"null"), json.loads(one.value or b"null")) for one in found]


def test_changes_are_forwarded_to_the_primary_and_another_registry_takes_over(start: Start, topic: str) -> None:
    first = start(topic)
    assert register(first.url, "x", avro("a")).body["id"] == 1
    second = start(topic)
    assert register(second.url, "x", avro("a", "b=1")).body["id"] == 2, "forwarded"
    assert call(first.url, "GET", "/subjects/x/versions").body == [1, 2]
    assert register(second.url, "x", avro("a", "c")).status == 409, "the other one's refusal"
    first.stop()
    assert register(second.url, "x", avro("a", "b=1", "c=1")).body["id"] == 3
    third = start(topic)
    assert register(third.url, "y", avro("z")).body["id"] == 4
    assert call(second.url, "GET", "/subjects/y/versions").body == [1]


def test_records_of_the_schemas_topic_equal_those_of_confluents_registry(
    start: Start, topic: str, broker: RunningBroker
) -> None:
    url = start(topic).url
    register(url, "x", avro("a"))
    call(url, "PUT", "/config/x", {"compatibility": "NONE"})
    call(url, "PUT", "/mode", {"mode": "READONLY"})
    call(url, "PUT", "/mode", {"mode": "READWRITE"})
    call(url, "DELETE", "/subjects/x/versions/1")
    call(url, "DELETE", "/subjects/x/versions/1?permanent=true")
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
    schema = {"keytype": "SCHEMA", "subject": "x", "version": 1, "magic": 1}
    value = {"subject": "x", "version": 1, "id": 1, "schema": text, "deleted": False}
    config = {"keytype": "CONFIG", "subject": "x", "magic": 0}
    mode = {"keytype": "MODE", "magic": 0}
    every = [one for one in stored(broker, topic) if one[0]["keytype"] != "NOOP"]
    assert every == [
        (schema, value),
        (config, {"subject": "x", "compatibilityLevel": "NONE"}),
        (mode, {"mode": "READONLY"}),
        (mode, {"mode": "READWRITE"}),
        (schema, {**value, "deleted": True}),
        (schema, None),
        (config, None),
    ]


CONFLUENTS: list[tuple[Any, Any]] = [
    ({"keytype": "NOOP", "magic": 0}, None),
    ({"keytype": "CONFIG", "subject": None, "magic": 0}, {"compatibilityLevel": "FULL"}),
    ({"keytype": "SCHEMA", "subject": "x", "version": 1, "magic": 1},
     {"subject": "x", "version": 1, "id": 7, "md5": "AAAA", "schema": '"string"', "deleted": False}),
    ({"keytype": "SCHEMA", "subject": "gone", "version": 1, "magic": 1},
     {"subject": "gone", "version": 1, "id": 8, "schema": '"int"', "deleted": False}),
    ({"keytype": "DELETE_SUBJECT", "subject": "gone", "magic": 0}, {"subject": "gone", "version": 1}),
    ({"keytype": "CONTEXT", "tenant": "default", "context": "."}, {"tenant": "default", "context": "."}),
    ({"keytype": "SCHEMA", "subject": "p", "version": 1, "magic": 1},
     {"subject": "p", "version": 1, "id": 9, "schemaType": "PROTOBUF", "deleted": False,
      "schema": 'syntax = "proto3";\npackage p;\n\nmessage M {\n  int32 a = 1;\n}\n'}),
]  # fmt: skip


def test_a_schemas_topic_of_confluents_registry_is_taken_over(start: Start, topic: str, broker: RunningBroker) -> None:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(topic, 1, -1, {}, COMPACTED)])
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for key, value in CONFLUENTS:
            producer.send(topic, None if value is None else json.dumps(value).encode(), key=json.dumps(key).encode())
        producer.send(topic, b"no JSON", key=b"no JSON")
        producer.flush()
    url = start(topic).url
    assert call(url, "GET", "/config").body == {"compatibilityLevel": "FULL"}
    assert call(url, "GET", "/subjects").body == ["p", "x"]
    assert call(url, "GET", "/subjects/gone/versions?deleted=true").body == [1]
    assert call(url, "GET", "/schemas/ids/7").body["schema"] == '"string"'
    assert register(url, "x", '"string"').body["id"] == 7
    same = 'syntax = "proto3"; package p; message M { int32 a = 1; }'
    assert register(url, "p", same, schemaType="PROTOBUF").body["id"] == 9, "as ours writes it, it is the same schema"
    assert register(url, "y", '"boolean"').body["id"] == 10


def test_a_schemas_topic_that_could_lose_schemas_is_refused(start: Start, topic: str, broker: RunningBroker) -> None:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(topic, 2, -1, {}, COMPACTED)])
        registry = start(topic)
        try:
            answer = call(registry.url, "GET", "/subjects")
        finally:
            admin.delete_topics([topic])
    assert answer.code == 50001
    assert "one partition" in answer.body["message"]


@contextmanager
def process(broker: RunningBroker, topic: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A registry in a process of its own, and its address."""
    options = ["-b", broker.bootstrap_servers, "--listen", "127.0.0.1:0", "--topic", topic, "--json"]
    command = [sys.executable, "-m", "oncelog", "schema-registry", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running, json.loads(running.stdout.readline())["schema_registry"]
        finally:
            running.kill()
            running.wait()


class Registered:
    """What registries have answered, and what must hold of it whoever is killed."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.texts: dict[int, str] = {}

    def register(self, url: str, number: int) -> None:
        text = avro(f"a{number}=1")
        answer = register(url, "s", text)
        assert answer.status == 200, answer
        given = answer.body["id"]
        assert self.ids.setdefault(text, given) == given, "a schema has two ids"
        assert self.texts.setdefault(given, text) == text, "an id means two schemas"

    def delete_last(self, url: str) -> None:
        """For good; its id may not be given again."""
        last = call(url, "GET", "/subjects/s/versions/latest").body
        assert call(url, "DELETE", f"/subjects/s/versions/{last['version']}").status == 200
        assert call(url, "DELETE", f"/subjects/s/versions/{last['version']}?permanent=true").status == 200
        self.ids = {text: given for text, given in self.ids.items() if given != last["id"]}


@pytest.mark.crash
def test_killed_registries_keep_what_they_acknowledged(broker: RunningBroker, topic: str) -> None:
    registered = Registered()
    for turn in range(4):
        with process(broker, topic) as (running, url):
            for text, given in registered.ids.items():
                assert register(url, "s", text).body["id"] == given
            for number in range(turn * 3, turn * 3 + 3):
                registered.register(url, number)
            registered.delete_last(url)
            writes = [Thread(target=attempt, args=(url, 100 + turn * 4 + number)) for number in range(4)]
            for thread in writes:
                thread.start()
            time.sleep(turn * 0.004)  # at another point each time
            os.kill(running.pid, signal.SIGKILL)
            for thread in writes:
                thread.join()
    with process(broker, topic) as (_, url):
        for turn in range(16):
            registered.register(url, 100 + turn)
    meant: dict[int, set[str]] = {}
    for key, value in stored(broker, topic):
        if key["keytype"] == "SCHEMA" and value is not None:
            meant.setdefault(value["id"], set()).add(value["schema"])
    assert all(len(texts) == 1 for texts in meant.values()), "not even for who reads aborted records"


def attempt(url: str, number: int) -> None:
    """Register something, while the registry is killed."""
    with suppress(OSError, HTTPException):
        register(url, "s", avro(f"a{number}=1"))
