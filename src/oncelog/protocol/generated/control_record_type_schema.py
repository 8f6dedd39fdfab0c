# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed

_pack_h = _Struct(">h").pack
_unpack_h = _Struct(">h").unpack_from


class ControlRecordTypeSchema(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("type",)

    def __init__(
        self,
        type: int = 0,  # 0+
    ) -> None:
        self.type = type


def _read_control_record_type_schema_v0(data: bytes, pos: int, size: int) -> tuple[ControlRecordTypeSchema, int]:
    at = "type"
    try:
        type, = _unpack_h(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("ControlRecordTypeSchema", at, pos, error) from None
    return ControlRecordTypeSchema(type), pos


def _write_control_record_type_schema_v0(w: Append, x: ControlRecordTypeSchema) -> None:
    w(_pack_h(x.type))
ControlRecordTypeSchema._READERS = {
    0: _read_control_record_type_schema_v0,
}
ControlRecordTypeSchema._WRITERS = {
    0: _write_control_record_type_schema_v0,
}
