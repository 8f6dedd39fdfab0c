"""Confluent's wire format: ids, and paths to Protobuf's messages as zigzag numbers."""

from __future__ import annotations

import pytest

from oncelog.schemas.framing import framed, indexes_of, schema_id_of, with_indexes
from oncelog.schemas.schema_errors import SchemaError


def test_the_header_of_a_value_is_a_zero_byte_and_the_schema_id_in_big_endian_order() -> None:
    assert framed(258, b"x") == b"\0\0\0\x01\x02x"
    assert schema_id_of(b"\0\0\0\x01\x02x") == 258


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\0", b"\x01\0\0\0\0", b"{123456"])
def test_a_value_without_a_schema_id_is_refused(data: bytes) -> None:
    with pytest.raises(SchemaError):
        schema_id_of(data)


@pytest.mark.parametrize(
    ("path", "written"), [([0], b"\0"), ([1], b"\x02\x02"), ([1, 0], b"\x04\x02\0"), ([200], b"\x02\x90\x03")]
)
def test_a_message_index_path_is_written_as_by_confluents_serializers(path: list[int], written: bytes) -> None:
    assert with_indexes(path, b"x") == written + b"x"
    assert indexes_of(b"....." + written + b"x", 5) == (path, 5 + len(written))


@pytest.mark.parametrize(
    "data", [b"", b"\x02", b"\x80", b"\x01", b"\xfe\xff\xff\xff\xff\xff", b"\xff\x7f", b"\x02\x01"]
)
def test_a_truncated_or_invalid_message_index_path_is_refused(data: bytes) -> None:
    with pytest.raises(SchemaError):
        indexes_of(data, 0)
