"""Lines, properties and bytes on their way in and out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.cli.records.produce import AS_THEY_ARE, InputError, _line_items, json_item
from oncelog.cli.shared.options import ConnectionOptions, partition_numbers
from oncelog.cli.shared.output import check_writable, show_table
from oncelog.cli.shared.properties import given_properties, named_values
from oncelog.cli.shared.record_lines import as_json, as_text, by_format
from oncelog.client.core.config import ProducerConfig
from oncelog.client.core.structs import ConsumerRecord
from oncelog.client.positions import offsets_of, parse_offset, parse_time
from oncelog.errors import ConfigError
from oncelog.runtime.shown import json_bytes, show_bytes, show_time
from oncelog.types import TopicPartition

BYTES = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)
HEADERS = st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=3)


@given(BYTES, BYTES, HEADERS, st.integers(0, 2**40))
def test_a_record_is_unchanged_after_conversion_to_json_and_back(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], timestamp: int
) -> None:
    record = ConsumerRecord("t", 3, 17, timestamp, 0, key, value, None, 0, 0, headers)
    line = as_json(record)
    assert line.count(b"\n") == 1
    item = json_item(line, 1)
    assert (item.key, item.value, item.headers) == (key, value, headers)
    assert (item.partition, item.timestamp_ms) == (3, timestamp)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON"),
        ("[]", 'object with a "value"'),
        ("{}", 'object with a "value"'),
        ('{"value": 1, "kex": 2}', "'kex'"),
        ('{"value": 1, "partition": "0"}', "partition must be a number"),
        ('{"value": 1, "timestamp": true}', "timestamp must be a number"),
        ('{"value": 1, "headers": [1]}', "headers must be"),
        ('{"value": {"base64": "&"}}', "base64"),
        ('{"value": {"base64": 5}}', "base64"),
        pytest.param("[" * 100_000, "not JSON", id="deep"),
        ('{"value": "\\ud800"}', "surrogate"),
        ('{"value": "v", "headers": {"\\ud800": "v"}}', "surrogate"),
        ('{"value": "v", "timestamp": 9223372036854775808}', "timestamp must be ms since 1970"),
        ('{"value": "v", "timestamp": -2}', "timestamp must be ms since 1970"),
    ],
)
def test_the_error_names_a_bad_json_line(line: str, words: str) -> None:
    with pytest.raises(InputError, match="line 7 ") as refused:
        json_item(line.encode(), 7)
    assert words in str(refused.value)


@given(st.binary(max_size=30))
def test_bytes_are_shown_in_one_line(data: bytes) -> None:
    shown = show_bytes(data)
    assert shown.isprintable()
    json.dumps(json_bytes(data))


def test_shown_text_keeps_letters_and_escapes_control_and_invalid_bytes() -> None:
    assert show_bytes("grün".encode()) == "grün"
    assert show_bytes(b"a\tb\n") == r"a\tb\n"
    assert show_bytes(b"\xffa") == r"\xffa"
    assert show_bytes(None) == "null"
    assert json_bytes(b"\xff") == {"base64": "/w=="}


@given(st.lists(st.sampled_from([None, b"null", b'"null"', b'""null""', b'null"', b"NULL", b"", b"x"]), max_size=8))
def test_null_and_text_are_shown_differently(values: list[bytes | None]) -> None:
    for null in ("null", "NULL", "", "x"):
        assert len({show_bytes(value, null) for value in values}) == len(set(values))


def test_a_null_marker_stands_for_null_everywhere_in_a_line() -> None:
    record = ConsumerRecord("t", 3, 17, 0, 0, None, None, None, 0, 0, [("g", None)])
    assert as_text(("headers",), "=", "NONE")(record) == b"g=NONE\tNONE=NONE\n"
    assert by_format("%k=%s %h\\n", "NONE")(record) == b"NONE=NONE g=NONE\n"
    assert by_format("%k=%s %h\\n")(record) == b"= g=null\n"


@pytest.mark.parametrize(
    ("given", "separator"), [("\\t", b"\t"), ("\\x1f", b"\x1f"), ("\\\\t", b"\\t"), ("\\d", b"\\d"), ("=>", b"=>")]
)
def test_a_key_separator_has_the_escapes_of_a_format(given: str, separator: bytes) -> None:
    record = ConsumerRecord("t", 3, 17, 0, 0, b"k", b"v", None, 0, 0, [])
    assert as_text((), given)(record) == b"k" + separator + b"v\n"
    ((_, line),) = _line_items([b"k" + separator + b"v\n"], given, None, AS_THEY_ARE)
    assert (line.key, line.value) == (b"k", b"v")


def test_only_text_equal_to_the_null_marker_is_null() -> None:
    lines = [b"a:NULL\n", b"NULL:NULL \n", b"b:null\n", b"c:\n"]
    found = [line for _, line in _line_items(lines, ":", "NULL", AS_THEY_ARE)]
    assert [(line.key, line.value) for line in found] == [(b"a", None), (None, b"NULL "), (b"b", b"null"), (b"c", b"")]


def test_fields_of_a_consumed_record_are_printed_before_its_value() -> None:
    record = ConsumerRecord("t", 3, 17, 0, 0, b"k", None, None, 0, 0, [("h", b"1"), ("g", None)])
    assert as_text(("offset", "headers", "timestamp"), "=")(record) == (
        b"17\th=1,g=null\t1970-01-01T00:00:00.000Z\tk=null\n"
    )


def test_an_unknown_timestamp_is_shown_as_none() -> None:
    assert show_time(-1) is None
    assert show_time(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-2, "1969-12-31T23:59:59.998Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        (-62_135_596_800_001, "-62135596800001 ms"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "253402300800000 ms"),
        (1_700_000_000_000_000_000, "1700000000000000000 ms"),
    ],
)
def test_a_time_of_any_year_is_shown_unchanged(time_ms: int, text: str) -> None:
    assert show_time(time_ms) == text


def test_a_table_aligns_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(["NAME", "LAG"], [["a", 5], ["long name", None], ["b", 123]])
    assert capsys.readouterr().out.splitlines() == [
        "NAME       LAG",
        "a            5",
        "long name    -",
        "b          123",
    ]


def test_control_characters_in_names_neither_control_the_terminal_nor_add_rows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_table(["GROUP", "MEMBERS"], [["a\nfree", 1], ["\x1b[2J\u202e\x9b", 2]])
    assert capsys.readouterr().out.splitlines() == [
        "GROUP              MEMBERS",
        r"a\nfree                  1",
        r"\x1b[2J\u202e\x9b        2",
    ]


def test_assignments_on_the_command_line_override_the_properties_file(tmp_path: Path) -> None:
    file = tmp_path / "x.properties"
    file.write_text("acks = all\n# comment\nlinger.ms:5\n")
    assert given_properties(file, ["linger.ms=7"]) == {"acks": "all", "linger.ms": "7"}


def test_an_assignment_on_the_command_line_consists_of_name_and_value(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--set takes NAME=VALUE, not 'acks'"):
        given_properties(None, ["acks"])
    assert named_values("--header", ["a=b=c", "e="]) == {"a": "b=c", "e": ""}
    (tmp_path / "latin1").write_bytes(b"acks=\xe4")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        given_properties(tmp_path / "latin1", [])


def test_topics_with_partitions_are_parsed_from_the_command_line() -> None:
    assert partition_numbers(("a", "b:2,0")) == {"a": None, "b": [0, 2]}
    with pytest.raises(ConfigError, match=r"TOPIC:PARTITION,PARTITION, not 'b:x'"):
        partition_numbers(("b:x",))
    for wrong in ("b:-1", "b:0,-1", "b:", ":0", "", "b:" + "9" * 5000):
        with pytest.raises(ConfigError, match="TOPIC:PARTITION,PARTITION, not"):
            partition_numbers((wrong,))


def test_options_of_a_command_override_its_properties() -> None:
    cluster = ConnectionOptions({"bootstrap.servers": "a:1", "transactional.id": "file", "batch.size": "7"}, False)
    config = cluster.settings(ProducerConfig, transactional_id="option")
    assert (config.transactional_id, config.max_batch_size) == ("option", 7)
    assert cluster.settings(ProducerConfig, transactional_id=None).transactional_id == "file"
    assert cluster.admin_settings().bootstrap_servers == ("a:1",)


RECORD = ConsumerRecord("t", 3, 17, 1234, 0, b"k", b"v\xff", None, 1, 2, [("h", b"1")])


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("%t-%p:%o %k=%s\\n", b"t-3:17 k=v\xff\n"),
        ("%T %K %S %h%%", b"1234 1 2 h=1%"),
        ("\\t\\0\\x41\\\\", b"\t\0A\\"),
    ],
)
def test_a_format_string_has_kcats_syntax(form: str, written: bytes) -> None:
    assert by_format(form)(RECORD) == written


def test_the_size_of_null_is_shown_as_minus_one() -> None:
    assert by_format("%k%K%s%S")(RECORD._replace(key=None, value=None)) == b"-1-1"


@pytest.mark.parametrize("form", ["%q", "50%", "a\\"])
def test_an_invalid_format_is_refused(form: str) -> None:
    with pytest.raises(ConfigError, match="which is unknown: it takes %s value"):
        by_format(form)


ENDS = {TopicPartition("t", 0): 100, TopicPartition("t", 1): 3}
FIRSTS = {TopicPartition("t", 0): 10, TopicPartition("t", 1): 0}


@pytest.mark.parametrize(
    ("text", "found", "offsets"),
    [
        ("5", [10, 0], [5, 5]),
        ("-10", [100, 3], [90, 0]),
        ("-0", [100, 3], [100, 3]),
        ("beginning", [10, 0], [10, 0]),
        ("end", [100, 3], [100, 3]),
        ("s@1000", [50, -1], [50, 3]),
    ],
)
def test_start_and_end_options_become_offsets_within_the_log(text: str, found: list[int], offsets: list[int]) -> None:
    place = parse_offset(text)
    assert list(offsets_of(place, dict(zip(ENDS, found, strict=True)), FIRSTS, ENDS).values()) == offsets


@pytest.mark.parametrize("text", ["ten", "1.5", "--1", "", "s@yesterday"])
def test_an_invalid_offset_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--offset takes"):
        parse_offset(text)


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1700000000000", 1_700_000_000_000),
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01T01:00:01+01:00", 1000),
        ("15m", 86_400_000 - 900_000),
        ("1d", 0),
    ],
)
def test_a_time_is_given_in_ms_or_as_iso_date_or_as_time_ago(text: str, time_ms: int) -> None:
    assert parse_time("--since", text, now_ms=86_400_000) == time_ms


@pytest.mark.parametrize("text", ["2026", "20260131"])
def test_a_year_or_a_date_without_hyphens_is_not_mistaken_for_ms(text: str) -> None:
    with pytest.raises(ConfigError, match=f"takes a date as 2026-01-31, not {text}, which would be milliseconds"):
        parse_time("--to-datetime", text)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("1700000000", "1700000000 would be in early 1970: add 000 to seconds"),
        ("1700000000000000", "after the year 5000: leave out the last 3 digits of microseconds"),
        ("1700000000000000000", "6 of nanoseconds"),
        ("9" * 5000, "after the year 5000"),
    ],
)
def test_seconds_and_nanoseconds_are_not_mistaken_for_ms(text: str, advice: str) -> None:
    with pytest.raises(ConfigError, match=f"--since takes ms since 1970, and .*{advice}"):
        parse_time("--since", text)


def test_an_output_file_that_could_not_be_written_at_the_end_is_refused_at_the_start(tmp_path: Path) -> None:
    """The lab ran its flows, the demo five minutes, and ended with a bug to report."""
    (tmp_path / "file").touch()
    (tmp_path / "kept").write_text("as it was")
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "file" / "x.html", "Not a directory|File exists")):
        with pytest.raises(ConfigError, match=rf"--html {path}: this file cannot be written: ({why})"):
            check_writable("--html", path)
    check_writable("--html", tmp_path / "new" / "x.html")
    check_writable("--html", tmp_path / "kept")
    assert not (tmp_path / "new" / "x.html").exists()
    assert (tmp_path / "kept").read_text() == "as it was"
