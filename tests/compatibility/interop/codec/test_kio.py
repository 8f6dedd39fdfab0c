"""The codec against ``kio``, an independent implementation generated from Kafka's definitions.

``kio`` reads what is encoded here and writes it again: the bytes must be the same, and so must the values of the fields
that both name alike. ``kio`` gives some fields a narrower type than the protocol does (known error codes, durations,
timestamps), so those get values that it can hold.
"""

from __future__ import annotations

import datetime
import enum
import io
import uuid
from typing import Any

import pytest
from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from oncelog.protocol.struct_fields import Struct
from tests.unit.protocol.message_values import (
    MESSAGES,
    RandomSource,
    Source,
    any_scalar,
    make_message,
    message_class,
    versions,
)
from tools.codec.schema import Field, snake_case

MESSAGES_A_VERSION = 6
ERROR_CODES = sorted(code.value for code in ErrorCode)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
KINDS = {
    "request": EntityType.request,
    "response": EntityType.response,
    "header": EntityType.header,
    "data": EntityType.data,
}


def kio_name(name: str) -> str:
    definition = MESSAGES[name]
    if definition.kind in ("request", "response"):
        return snake_case(name.removesuffix("Request").removesuffix("Response"))
    return snake_case(name)


def covered_versions(name: str) -> list[int]:
    definition = MESSAGES[name]
    known = schema_name_map.get(kio_name(name), {})
    kind = KINDS.get(definition.kind)
    return [version for version in versions(definition) if kind in known.get(version, {})]


COVERED = [name for name in MESSAGES if covered_versions(name)]


def value_kio_can_hold(source: Source, item: Field) -> Any:
    name = item.name.lower()
    if item.type == "int16" and name.endswith("errorcode"):
        return ERROR_CODES[source.integer(0, len(ERROR_CODES) - 1)]
    if item.type in ("int32", "int64") and name.endswith(("ms", "timestamp", "time")):
        return source.integer(0, 2**31 - 1)
    return any_scalar(source, item)


def plain(value: Any) -> Any:
    """A value of ``kio`` in the form in which our messages hold it."""
    match value:
        case enum.Enum():
            return value.value
        case uuid.UUID():
            return value.bytes
        case datetime.timedelta():
            return round(value / datetime.timedelta(milliseconds=1))
        case datetime.datetime():
            return round((value - EPOCH) / datetime.timedelta(milliseconds=1))
    return value


def assert_same_values(ours: Any, theirs: Any, where: str) -> int:
    """Compare every field that both have; returns how many there were."""
    if isinstance(ours, Struct):
        compared = 0
        for name in ours.__slots__:
            kio_attribute = name if hasattr(theirs, name) else name + "_"
            if hasattr(theirs, kio_attribute):
                other = getattr(theirs, kio_attribute)
                compared += assert_same_values(getattr(ours, name), other, f"{where}.{name}")
        return compared
    if isinstance(ours, list):
        assert len(ours) == len(theirs), where
        return sum(assert_same_values(one, other, where) for one, other in zip(ours, theirs, strict=True))
    expected = plain(theirs)
    if expected is None and ours in (bytes(16), -1):  # kio's null for the zero UUID and for "no time"
        expected = ours
    assert ours == expected, where
    return 1


def test_kio_covers_most_of_the_messages() -> None:
    api = [name for name, item in MESSAGES.items() if item.kind in KINDS]
    assert len(COVERED) > 0.9 * len(api)


@pytest.mark.parametrize("name", COVERED)
def test_kio_and_we_read_and_write_the_same_bytes(name: str) -> None:
    compared = 0
    for version in covered_versions(name):
        schema: Any = load_entity_schema(kio_name(name), version, KINDS[MESSAGES[name].kind])
        for number in range(MESSAGES_A_VERSION):
            message = make_message(name, version, RandomSource(f"{name} {version} {number}"), value_kio_can_hold)
            encoded = message.encode(version)
            theirs, used = entity_reader(schema)(encoded, 0)
            assert used == len(encoded), (message, version)
            compared += assert_same_values(message, theirs, f"{name} v{version}")
            written = io.BytesIO()
            entity_writer(schema)(written, theirs)
            assert written.getvalue() == encoded, (message, version)
            assert message_class(name).decode(written.getvalue(), version) == message
    assert compared or not message_class(name).__slots__
