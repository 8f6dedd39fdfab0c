"""``consume``, ``produce`` and ``schemas`` with a registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.schemas import SchemaRegistry
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import Outcome, call

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None},
    ],
}
NEWER = {**ORDER, "fields": [*ORDER["fields"], {"name": "note", "type": "string", "default": ""}]}
PROTO = 'syntax = "proto3"; package shop; message Order { int32 id = 1; string note = 2; }'
PERSON = {"title": "Person", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Commands:
    """Commands with the addresses of a broker and a registry."""

    def __init__(self, servers: str, url: str, folder: Path) -> None:
        self.servers = servers
        self._env = {"ONCELOG_BOOTSTRAP_SERVER": servers, "ONCELOG_SCHEMA_REGISTRY": url}
        self._folder = folder

    def __call__(self, *words: object, stdin: str = "") -> Outcome:
        return call(*words, stdin=stdin, env=self._env)

    def file(self, name: str, schema: object) -> Path:
        path = self._folder / name
        path.write_text(schema if isinstance(schema, str) else json.dumps(schema))
        return path


@pytest.fixture
def oncelog_command(broker: RunningBroker, url: str, tmp_path: Path) -> Commands:
    return Commands(broker.bootstrap_servers, url, tmp_path)


@pytest.fixture
def orders(oncelog_command: Commands, topic: str) -> str:
    """A topic without records."""
    name = f"orders{topic}"
    oncelog_command("topics", "create", name, "--partitions", 1).done()
    return name


CASES: list[tuple[str, object, dict[str, Any], str, str]] = [
    ("order.avsc", ORDER, {"id": 1, "at": "2026-01-31T12:00:00+00:00"}, "AVRO", "Order"),
    ("person.json", PERSON, {"name": "Ünal"}, "JSON", "Person"),
    ("order.proto", PROTO, {"id": 5, "note": "ä"}, "PROTOBUF", "shop.Order"),
]


@pytest.mark.parametrize(("name", "schema", "value", "kind", "named"), CASES, ids=[case[3] for case in CASES])
def test_consume_decodes_the_values_that_produce_encodes(
    oncelog_command: Commands, orders: str, name: str, schema: object, value: dict[str, Any], kind: str, named: str
) -> None:
    file = oncelog_command.file(name, schema)
    line = json.dumps(value, ensure_ascii=False)
    oncelog_command("produce", "-t", orders, "--value-schema", file, stdin=line + "\n").done()
    oncelog_command("produce", "-t", orders, "--value-schema", "latest", stdin=line + "\n").done()
    oncelog_command("produce", "-t", orders, "--value-schema", f"{orders}-value:1", stdin=line + "\n").done()
    shown = oncelog_command("consume", "-t", orders, "--from-beginning", "-e").done()
    assert shown.out.splitlines() == [line] * 3
    records = oncelog_command("consume", "-t", orders, "--from-beginning", "-e", "--json").done().json_lines
    assert [record["value"] for record in records] == [value] * 3
    assert records[0]["value_schema"] == {"id": 1, "type": kind, "name": named}
    again = "\n".join(json.dumps(record) for record in records)
    oncelog_command("produce", "-t", orders, "--json-lines", "--value-schema", "latest", stdin=again).done()
    formatted = oncelog_command("consume", "-t", orders, "--from-beginning", "-e", "-f", "%s;").done()
    assert formatted.out == f"{line};" * 6


def test_a_note_says_once_that_decoded_values_are_written_as_json(oncelog_command: Commands, orders: str) -> None:
    schema = oncelog_command.file("key.avsc", '"long"')
    words = ("produce", "-t", orders, "-K", ":", "--key-schema", schema, "--value-schema", schema)
    oncelog_command(*words, stdin="7:8\n9:10\n").done()
    lines = oncelog_command("consume", "-t", orders, "--from-beginning", "-e", "--json").done().out
    again = ("produce", "-t", orders, "--json-lines")
    remarks = oncelog_command(*again, stdin=lines).done().err.splitlines()
    assert [line.partition(" that was decoded")[0] for line in remarks] == [
        "line 1 of the input has a key",
        "line 1 of the input has a value",
    ]
    assert "--key-schema SUBJECT:VERSION encodes it again" in remarks[0]
    schemas = ("--key-schema", f"{orders}-key:1", "--value-schema", f"{orders}-value:1")
    assert oncelog_command(*again, *schemas, stdin=lines).done().err == ""


def test_keys_are_encoded_like_values_and_null_stays_null(oncelog_command: Commands, orders: str) -> None:
    schema = oncelog_command.file("key.avsc", '"long"')
    oncelog_command("produce", "-t", orders, "-K", ":", "--key-schema", schema, stdin="7:plain\n").done()
    oncelog_command("produce", "-t", orders, "--value-schema", schema, stdin="null\n8\n").done()
    records = oncelog_command("consume", "-t", orders, "--from-beginning", "-e", "--json").done().json_lines
    assert [(record["key"], record["value"]) for record in records] == [(7, "plain"), (None, None), (None, 8)]
    assert records[0]["value_problem"] == "no schema id: the first byte is 112, not 0"
    assert "value_problem" not in records[1]
    assert oncelog_command("schemas", "list").done().out.split() == [
        "SUBJECT", "VERSIONS", f"{orders}-key", "1", f"{orders}-value", "1",
    ]  # fmt: skip


def test_an_undecodable_value_is_shown_with_the_reason(oncelog_command: Commands, orders: str) -> None:
    with oncelog.Producer(bootstrap_servers=oncelog_command.servers) as producer:
        producer.send_and_wait(orders, b"\0\0\0\0\x09x")
    shown = oncelog_command("consume", "-t", orders, "--from-beginning", "-e").done()
    assert "its value is not decoded" in shown.err
    assert "error 40403" in shown.err
    (record,) = oncelog_command("consume", "-t", orders, "--from-beginning", "-e", "--json").done().json_lines
    assert record["value"] == "\0\0\0\0\tx"
    assert "error 40403" in record["value_problem"]


def test_decoding_errors_after_the_fifth_are_counted_at_the_end(oncelog_command: Commands, orders: str) -> None:
    with oncelog.Producer(bootstrap_servers=oncelog_command.servers) as producer:
        for _ in range(8):
            producer.send(orders, b"\0\0\0\0\x09x")
        producer.send(orders, b"plain")
        producer.flush()
    for words in (("--from-beginning",), ("--show-transactions",)):
        reported = oncelog_command("consume", "-t", orders, "-e", *words).done().err.splitlines()
        assert sum("its value is not decoded" in line for line in reported) == 5
        assert "3 more keys and values are not decoded; --json has each reason" in reported
    reported = oncelog_command("consume", "-t", orders, "--from-beginning", "-e", "-c", "6").done().err.splitlines()
    assert "1 more key or value is not decoded; --json has each reason" in reported
    assert "more" not in oncelog_command("consume", "-t", orders, "--from-beginning", "-e", "--json").done().err


def test_transactions_are_shown_with_decoded_values(oncelog_command: Commands, orders: str) -> None:
    file = oncelog_command.file("order.avsc", ORDER)
    line = '{"id": 7, "at": null}'
    oncelog_command("produce", "-t", orders, "-X", "transactional.id=t", "--value-schema", file, stdin=line).done()
    oncelog_command("produce", "-t", orders, stdin="plain").done()
    words = ("consume", "-t", orders, "--show-transactions", "-e")
    shown = oncelog_command(*words).done()
    assert [row.split("\t")[5:] for row in shown.out.splitlines()[1:] if "marker" not in row] == [[line], ["plain"]]
    stored = oncelog_command(*words, "--json").done().json_lines
    with_schema, plain = (record for record in stored if not record["control"])
    assert (with_schema["value"], with_schema["value_schema"]["name"]) == (json.loads(line), "Order")
    assert (plain["value"], plain["value_problem"]) == ("plain", "no schema id: the first byte is 112, not 0")


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("{", "line 2 of the input is not JSON, as a schema needs it"),
        ('{"id": "x"}', "line 2 of the input: id must be long, not 'x'"),
        ("{}", "line 2 of the input: id is missing"),
        ('{"id": 1, "more": 2}', "line 2 of the input: the value does not fit the Avro schema Order"),
    ],
)
def test_the_error_names_a_line_that_does_not_match_the_schema(
    oncelog_command: Commands, orders: str, line: str, printed: str
) -> None:
    file = oncelog_command.file("order.avsc", ORDER)
    refused = oncelog_command("produce", "-t", orders, "--value-schema", file, stdin='{"id": 1}\n' + line)
    assert refused.code == 1
    assert printed in refused.err


def test_schemas_are_registered_checked_compared_and_deleted(oncelog_command: Commands) -> None:
    first, second = (oncelog_command.file(*given) for given in (("a.avsc", ORDER), ("b.avsc", NEWER)))
    broken = oncelog_command.file("c.avsc", {**ORDER, "fields": [{"name": "other", "type": "int"}]})
    assert oncelog_command("schemas", "register", "s", first, "--json").done().json == {
        "subject": "s",
        "version": 1,
        "id": 1,
    }
    assert oncelog_command("schemas", "register", "s", second).done().out == "s version 2 has id 2\n"
    assert (
        "is compatible with s version latest (BACKWARD)" in oncelog_command("schemas", "check", "s", second).done().out
    )
    refused = oncelog_command("schemas", "check", "s", broken, "--json")
    assert (refused.code, refused.json["compatible"]) == (1, False)
    difference = oncelog_command("schemas", "diff", "s:1").done().out.splitlines()
    assert [line for line in difference if line.startswith("+ ") and '"name"' in line] == ['+      "name": "note",']
    assert json.loads(oncelog_command("schemas", "show", "s:1").done().out) == ORDER
    shown = oncelog_command("schemas", "show", "1", "--json").done().json
    assert (shown["used"], json.loads(shown["schema"])) == ([{"subject": "s", "version": 1}], ORDER)
    assert oncelog_command("schemas", "list", "--json").done().json == [{"subject": "s", "versions": [1, 2]}]
    assert oncelog_command("schemas", "delete", "s:1").done().out == "s: 1 version deleted: 1\n"
    assert oncelog_command("schemas", "delete", "s", "--json").done().json["versions"] == [2]
    assert oncelog_command("schemas", "list").done().out == ""
    oncelog_command("schemas", "delete", "s", "--permanent").done()


def test_a_missing_or_wrong_schema_is_reported_in_one_sentence(
    oncelog_command: Commands, orders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "refuses" in oncelog_command("schemas", "show", "nothing").sentence()
    assert "error 40403" in oncelog_command("schemas", "show", "99").sentence()
    assert "a schema is a file (" in oncelog_command("produce", "-t", orders, "--value-schema", "x").sentence()
    other = oncelog_command.file("schema.txt", ORDER)
    assert "see --type" in oncelog_command("schemas", "register", "s", other).sentence()
    monkeypatch.delenv("ONCELOG_SCHEMA_REGISTRY", raising=False)
    assert "--schema-registry URL, or ONCELOG_SCHEMA_REGISTRY" in call("schemas", "list").sentence()
    nobody = ["consume", "-t", orders, "-e", "--schema-registry", "http://127.0.0.1:9"]
    assert "cannot be reached" in oncelog_command(*nobody).sentence()


def test_a_schema_can_refer_to_other_schemas(oncelog_command: Commands, url: str) -> None:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "a", "type": "int"}]}
    outer = {"type": "record", "name": "Outer", "fields": [{"name": "x", "type": "Inner"}]}
    oncelog_command("schemas", "register", "inner", oncelog_command.file("inner.avsc", inner)).done()
    file = oncelog_command.file("outer.avsc", outer)
    oncelog_command("schemas", "register", "outer", file, "--reference", "Inner=inner:1").done()
    (reference,) = SchemaRegistry(url).version("outer").schema.references
    assert (reference.name, reference.subject, reference.version) == ("Inner", "inner", 1)
