"""Positions in addresses, decoders, Avro, searches: what a page of records is made of."""

from __future__ import annotations

import asyncio
import io
import json
from contextlib import suppress
from typing import cast

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.apps.console.avro import NotAvro, PastedSchema
from oncelog.apps.console.decoding import FULL_BYTES, RecordDecoding, ValueDecoder, decode
from oncelog.apps.console.filters import moment
from oncelog.apps.console.reading import Ends, TopicReading, decode_positions, encode_positions
from oncelog.apps.console.search import RecordFilter
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import Producers, RecordOutcome, StoredRecord
from oncelog.client.positions import parse_time
from oncelog.errors import ConfigError
from oncelog.records.batch import BatchHeader
from oncelog.records.record import Record
from oncelog.types import TRANSACTION_STATE_TOPIC
from tests.support.work import calls_of

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "int"}, {"name": "s", "type": "string"}]}


@given(st.dictionaries(st.integers(0, 10_000), st.integers(0, 2**59), max_size=64))
def test_positions_survive_encoding_in_a_url(positions: dict[int, int]) -> None:
    assert decode_positions(encode_positions(positions)) == positions


@given(st.text())
def test_any_text_parses_as_positions(text: str) -> None:
    assert all(partition >= 0 and offset >= 0 for partition, offset in decode_positions(text).items())


@given(st.binary(max_size=200) | st.none(), st.sampled_from(ValueDecoder))
def test_any_bytes_can_be_shown(data: bytes | None, decoder: ValueDecoder) -> None:
    shown = decode(data, decoder, None)
    assert shown.size == (-1 if data is None else len(data))


@pytest.mark.parametrize(
    ("data", "decoder", "text", "kind"),
    [
        (b'{"b":1, "a":[2]}', ValueDecoder.AUTO, '{"b": 1, "a": [2]}', "JSON"),
        (b"{not json", ValueDecoder.AUTO, "{not json", "text"),
        ("grüße".encode(), ValueDecoder.AUTO, "grüße", "text"),
        (b"\xff\x00", ValueDecoder.AUTO, "ff 00", "hex"),
        (b"a\x00b", ValueDecoder.AUTO, "61 00 62", "hex"),
        (b"17", ValueDecoder.JSON, "17", "JSON"),
        (b"x", ValueDecoder.JSON, "x", "text"),
        (b"x", ValueDecoder.HEX, "78", "hex"),
        (b"\xffx", ValueDecoder.TEXT, "\\xffx", "text"),
        (b"", ValueDecoder.AUTO, "", "text"),
        (b"[" * 50_000, ValueDecoder.AUTO, None, "text"),
    ],
)
def test_bytes_are_decoded_as_requested_or_as_the_format_that_fits(
    data: bytes, decoder: ValueDecoder, text: str | None, kind: str
) -> None:
    shown = decode(data, decoder, None)
    assert shown.kind == kind
    assert text is None or shown.text == text


def test_only_the_beginning_of_a_large_value_is_shown() -> None:
    for data in (
        b"x" * 1_000_000,
        ("ä" * 600_000).encode(),
        b"\xff" * 1_000_000,
        b"\xff" * 20_000,
        json.dumps(["y" * 900_000]).encode(),
    ):
        shown = decode(data, ValueDecoder.AUTO, None)
        assert len(shown.text) <= FULL_BYTES
        assert shown.cut
        assert shown.size == len(data)


def avro(value: object) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(SCHEMA), value)
    return out.getvalue()


def test_an_avro_value_is_read_with_and_without_the_header_of_a_registry() -> None:
    schema = PastedSchema.parse(json.dumps(SCHEMA))
    value = {"n": 3, "s": "abc"}
    assert schema.read(avro(value)) == value
    assert schema.read(b"\x00\x00\x00\x00\x2a" + avro(value)) == value
    shown = decode(avro(value), ValueDecoder.AUTO, schema)
    assert (shown.kind, json.loads(shown.text)) == ("Avro", value)


@given(st.binary(max_size=100))
def test_bytes_that_do_not_match_the_schema_are_shown_unchanged(data: bytes) -> None:
    schema = PastedSchema.parse(json.dumps(SCHEMA))
    try:
        schema.read(data)
    except NotAvro:
        for decoder in (ValueDecoder.AUTO, ValueDecoder.AVRO):
            shown = decode(data, decoder, schema)
            assert shown.kind != "Avro"
            assert "does not fit" in shown.problem


@pytest.mark.parametrize(
    "text",
    ["", "{", "17", '{"type": "nothing"}', '{"type": "record"}', '["string", "gone"]', '{"type": "enum"}',
     '{"type": "array", "items": "null"}', '{"type": "array", "items": {"type": "record", "name": "e", "fields": []}}',
     '[{"type": "record", "name": "e", "fields": []}, {"type": "array", "items": "e"}]', "[" * 100000,
     '{"type": "map", "values": {"type": "array", "items": {"type": "fixed", "name": "f", "size": 0}}}'],
)  # fmt: skip
def test_invalid_and_endless_schemas_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        PastedSchema.parse(text)


def _doubling(count: int) -> list[object]:
    """Each record holds two of the previous one, the first nothing: with 40 of them a value takes no bytes and a
    day.
    """
    first: list[object] = [{"type": "record", "name": "r0", "fields": []}]
    return first + [
        {"type": "record", "name": f"r{i}", "fields": [{"name": n, "type": f"r{i - 1}"} for n in "ab"]}
        for i in range(1, count)
    ]


def _holding(field: object, count: int = 1, also: str = "null") -> dict[str, object]:
    fields = [{"name": f"f{i}", "type": field} for i in range(count)]
    return {"type": "record", "name": "t", "fields": [*fields, {"name": "g", "type": also}]}


@pytest.mark.parametrize(
    "schema",
    [
        _holding("t"),
        _holding({"type": "record", "name": "inner", "fields": [{"name": "x", "type": "t"}]}),
        _doubling(40),
        {"type": "array", "items": _doubling(40)},
        _holding("null", 20_000),
        {"type": "array", "items": _holding("null", 100, "boolean")},
        {"type": "map", "values": _holding("null", 100)},
        [{"type": "record", "name": f"r{i}", "fields": [{"name": "x", "type": f"r{i - 1}" if i else "int"}]}
         for i in range(4000)],
    ],
)  # fmt: skip
def test_a_schema_that_lets_a_few_bytes_stall_the_console_is_refused(schema: object) -> None:
    with pytest.raises(ConfigError):
        PastedSchema.parse(json.dumps(schema))


def test_schemas_with_nulls_and_empty_records_are_read() -> None:
    empty = {"type": "record", "name": "started", "fields": []}
    schema = PastedSchema.parse(json.dumps({"type": "array", "items": ["null", empty, _holding("null", 5, "string")]}))
    assert schema.read(b"\x04\x00\x02\x00") == [None, {"started": {}}]


def test_avro_values_that_fail_in_other_ways_are_shown_unchanged() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 2}
    many = {"type": "array", "items": decimal | {"precision": 10**18, "scale": 10**18}}
    assert PastedSchema.parse(json.dumps(many)).read(b"\x02\x02\x05\x00") == ["5E-1000000000000000000"]
    with pytest.raises(NotAvro):
        PastedSchema.parse(json.dumps({"type": "array", "items": {"type": "string", "logicalType": "uuid"}})).read(
            b"\x02\x02\x05\x00"
        )
    deep = PastedSchema.parse(json.dumps(_holding(["int", "t"])))
    shown = decode(b"\x02" * 1_500 + b"\x00\x00", ValueDecoder.AUTO, deep)
    assert shown.kind == "Avro" or shown.problem.endswith("nests too deeply")


def test_a_recursive_schema_is_read() -> None:
    tree = {"type": "record", "name": "t", "fields": [{"name": "kids", "type": {"type": "array", "items": "t"}}]}
    schema = PastedSchema.parse(json.dumps(tree))
    assert schema.read(b"\x00") == {"kids": []}
    for size in (2_000, 1_000_000):  # each byte nests once more: the reader's stack must not end first
        with pytest.raises(NotAvro):
            schema.read(b"\x02" * size)


@pytest.mark.parametrize("depth", [200, 900, 990, 5000])
def test_values_that_nest_deeply_are_shown_and_searched(depth: int) -> None:
    value = b'{"a":' * depth + b"1" + b"}" * depth
    assert decode(value, ValueDecoder.AUTO, None).kind in ("JSON", "text")
    assert not RecordFilter.parse("", "", "$..b", "").finds(Record(0, 0, None, value), RecordDecoding("t"))


@pytest.mark.parametrize("path", ["$" + ".a" * 300, "$..a..b..c", "$[?search(@.a, '(x*)*y')]", "$[?match (@.a, 'x')]"])
def test_paths_that_could_stop_the_console_are_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="must not stop the console"):
        RecordFilter.parse("", "", path, "")


MAX_CALLS = 5_000_000
"""Of functions: a second or two. Without a limit these paths visit up to 8^25 places."""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$" + "[0,0,0,0,0,0,0,0]" * 25 + ".x", b"[" * 26 + b"]" * 26),
        ("$[?count($[*])>100000000]", json.dumps([1] * 100_000).encode()),
        ("$[?$[?$[?@.x]]]", json.dumps([{}] * 1000).encode()),
        ("$[?@[?count($[?@.x]) == 1]]", json.dumps([[{}] * 1000] * 10).encode()),
    ],
)
def test_a_path_with_too_many_steps_finds_nothing_in_the_value(path: str, value: bytes) -> None:
    search, found = RecordFilter.parse("", "", path, ""), []
    assert calls_of(lambda: found.append(search.finds(Record(0, 0, None, value), RecordDecoding("t")))) < MAX_CALLS
    assert found == [False]


def test_steps_of_a_path_are_counted_anew_for_each_value() -> None:
    search = RecordFilter.parse("", "", "$[*].a", "7")
    value = json.dumps([{"a": 1}] * 20_000 + [{"a": 7}]).encode()
    assert all(search.finds(Record(0, 0, None, value), RecordDecoding("t")) for _ in range(5))


def test_a_path_within_many_parentheses_is_refused_or_compiled() -> None:
    with suppress(ConfigError):
        RecordFilter.parse("", "", "$[?" + "(" * 240 + "@" + ")" * 240 + "]", "")


def test_timestamps_written_in_microseconds_are_shown() -> None:
    assert moment(1_767_225_600_000_000) == "1767225600000000 ms"
    assert moment(2**63 - 1) == f"{2**63 - 1} ms"
    assert "9999-12-31 23:59:59 UTC" in moment(253_402_300_799_999)


RECORD = Record(5, 0, b"key-\xff7", json.dumps({"order": {"id": 17, "tags": ["a", "b"]}, "null": None}).encode())


@pytest.mark.parametrize(
    ("key", "text", "path", "equals", "found"),
    [
        ("key", "", "", "", True),
        ("0xff", "", "", "", True),
        ("nothing", "", "", "", False),
        ("", '"id": 17', "", "", True),
        ("", "", "order.id", "", True),
        ("", "", "$.order.id", "17", True),
        ("", "", "$.order.id", "18", False),
        ("", "", "$.order.tags[*]", "b", True),
        ("", "", "$..id", "17", True),
        ("", "", "$.null", "null", True),
        ("", "", "$.order[?@ == 17]", "17", True),
        ("", "", "$.gone", "", False),
        ("nothing", "", "$.order.id", "17", False),
    ],
)
def test_a_search_finds_records_that_match_all_its_terms(
    key: str, text: str, path: str, equals: str, found: bool
) -> None:
    assert RecordFilter.parse(key, text, path, equals).finds(RECORD, RecordDecoding("t")) is found


def test_a_search_reads_avro_and_internal_records_too() -> None:
    schema = PastedSchema.parse(json.dumps(SCHEMA))
    record = Record(0, 0, None, avro({"n": 3, "s": "abc"}))
    assert RecordFilter.parse("", "", "$.s", "abc").finds(record, RecordDecoding("t", schema=schema))
    assert not RecordFilter.parse("", "", "$.s", "abc").finds(record, RecordDecoding("t"))
    assert not RecordFilter.parse("", "", "$.s", "").finds(Record(0, 0, None, None), RecordDecoding("t"))
    unreadable = Record(0, 0, b"\x00", b"\x00\x63")
    assert not RecordFilter.parse("", "", "$.value", "").finds(unreadable, RecordDecoding(TRANSACTION_STATE_TOPIC))


@pytest.mark.parametrize("path", ["$[", "$.a[?", "$.a b", "$[?@.a ==]", "$[0"])
def test_an_invalid_path_is_refused_with_an_explanation(path: str) -> None:
    with pytest.raises(ConfigError, match="a JSON path is written like"):
        RecordFilter.parse("", "", path, "")
    with pytest.raises(ConfigError, match="needs a JSON path"):
        RecordFilter.parse("", "", "", "x")


@pytest.mark.parametrize(("text", "time_ms"), [("9" * 30 + "d", 0), ("0001-01-01", 0), ("7", 7), ("1m", 40_000)])
def test_a_time_before_1970_counts_as_1970(text: str, time_ms: int) -> None:
    assert parse_time("--from", text, now_ms=100_000) == time_ms


@pytest.mark.parametrize("text", ["9" * 5000 + "d", "", "-1", "1x"])
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="15 minutes ago"):
        parse_time("--from", text)


class SlowReader:
    """Returns its records in one answer, which arrives long after the request's time is over."""

    def __init__(self, clock: list[float], end: int) -> None:
        self.clock, self.position, self.end = clock, 0, end

    async def step(self) -> list[StoredRecord]:
        stored = [
            StoredRecord(BatchHeader(), Record(at, 0, b"k", b"v"), RecordOutcome.COMMITTED) for at in range(self.end)
        ]
        self.position = self.end
        self.clock[0] += 60
        return stored


def test_a_search_examines_every_record_of_a_slow_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("oncelog.apps.console.reading.real_time.monotonic", lambda: clock[0])
    monkeypatch.setattr(TopicReading, "_reader", lambda *_: SlowReader(clock, 1000))
    search = TopicReading(cast(Admin, None), Producers(cast(Admin, None)), RecordDecoding("t"), 10)
    found = asyncio.run(
        search.search(RecordFilter(key=b"another"), {0: 0, 1: 0}, dict.fromkeys([0, 1], Ends(0, 1000, 1000)))
    )
    assert (found.looked_at, found.next, found.over) == (1000, {0: 1000, 1: 0}, False)
