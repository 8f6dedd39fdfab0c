"""The tables, their parser, and that the checked-in files are what the generator writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.protocol.message_values import MESSAGES
from tools.codec.__main__ import differences, main, write
from tools.codec.module_emitter import emit_module
from tools.codec.schema import SchemaError, Versions, attribute_name, parse_table, snake_case

TABLE = """
message SampleRequest request key=7 versions=1-3 flexible=2+ latest-unstable
  Name string 0+ nullable=3+ ignorable
  Items []Item 0+
    Ids []int32 2+
    Kind Shared 3+ tag=4:3+
  struct Shared
    Limit int64 0+ default=-1
"""


def test_generated_code_is_current() -> None:
    assert differences() == []


def test_a_message_table_is_parsed_with_all_its_fields(tmp_path: Path) -> None:
    path = tmp_path / "sample.txt"
    path.write_text(TABLE)
    (message,) = parse_table(path)
    assert (message.name, message.kind, message.key) == ("SampleRequest", "request", 7)
    assert (message.versions, message.flexible, message.latest_unstable) == (Versions(1, 3), Versions(2, 32767), True)
    name, items = message.root.fields
    assert (name.nullable, name.ignorable, name.is_array) == (Versions(3, 32767), True, False)
    assert items.struct is not None
    ids, kind = items.struct.fields
    assert (ids.type, ids.is_array) == ("int32", True)
    assert (kind.tag, kind.tagged) == (4, Versions(3, 32767))
    assert kind.struct is message.shared["Shared"]
    assert kind.struct.fields[0].default == "-1"


@pytest.mark.parametrize(
    "line",
    [
        "  Name string",
        "  Name string x",
        "  Name string 0+ odd=1",
        "  Name Missing 0+",
        "  Name text 0+",
        "  Name string 0+\n    Inner int8 0+",
    ],
)
def test_an_unreadable_line_of_a_message_table_is_refused_with_its_file(tmp_path: Path, line: str) -> None:
    path = tmp_path / "sample.txt"
    path.write_text(f"message M request versions=0 flexible=none\n{line}\n")
    with pytest.raises(SchemaError, match=r"sample\.txt"):
        parse_table(path)


def test_generated_module_of_a_table_encodes_as_the_table_says(tmp_path: Path) -> None:
    path = tmp_path / "sample.txt"
    path.write_text(TABLE)
    (message,) = parse_table(path)
    module: dict[str, type] = {}
    exec(compile(emit_module(message), "sample_request.py", "exec"), module)
    shared: Any
    item: Any
    request: Any
    shared, item, request = module["Shared"], module["Item"], module["SampleRequest"]
    assert request("n").encode(1) == b"\0\1n" + b"\0\0\0\0"
    full = request("n", [item([9], shared(5))])
    tagged = b"\1" + b"\4\x09" + (5).to_bytes(8, "big") + b"\0"
    assert full.encode(3) == b"\2n" + b"\2" + b"\2\0\0\0\x09" + tagged + b"\0"
    assert request.decode(full.encode(3), 3) == full


def test_the_generators_check_reports_outdated_missing_and_foreign_files(tmp_path: Path) -> None:
    assert write(tmp_path) == len(MESSAGES) + 1
    assert differences(tmp_path) == []
    (tmp_path / "fetch_request.py").write_text("changed")
    (tmp_path / "produce_request.py").unlink()
    (tmp_path / "stray.py").write_text("")
    assert differences(tmp_path) == [
        "stray.py: no table defines it",
        "produce_request.py: missing",
        "fetch_request.py: differs from its table",
    ]
    assert write(tmp_path) == 3
    assert differences(tmp_path) == []


def test_the_generator_command_accepts_check_and_refuses_unknown_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert main(["--chek"]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kafka", "ours"),
    [
        ("TransactionalId", "transactional_id"),
        ("LastStableOffset", "last_stable_offset"),
        ("groupInstanceId", "group_instance_id"),
        ("Enable2Pc", "enable_2pc"),
        ("KRaftVersion", "kraft_version"),
        ("Class", "class_"),
    ],
)
def test_field_names_are_snake_case(kafka: str, ours: str) -> None:
    assert attribute_name(kafka) == ours


def test_module_names_are_snake_case() -> None:
    assert snake_case("AddPartitionsToTxnRequest") == "add_partitions_to_txn_request"
