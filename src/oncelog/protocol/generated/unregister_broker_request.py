# Generated from protocol/schemas by `python -m oncelog.protocol.generator`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_ix = _Struct(">ix").pack
_unpack_iB = _Struct(">iB").unpack_from


class UnregisterBrokerRequest(Message):
    API_KEY = 64
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("broker_id",)

    def __init__(
        self,
        broker_id: int = 0,  # 0+
    ) -> None:
        self.broker_id = broker_id


def _read_unregister_broker_request_v0(data: bytes, pos: int, size: int) -> tuple[UnregisterBrokerRequest, int]:
    at = "broker_id"
    try:
        broker_id, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("UnregisterBrokerRequest", at, pos, error) from None
    return UnregisterBrokerRequest(broker_id), pos


def _write_unregister_broker_request_v0(w: Append, x: UnregisterBrokerRequest) -> None:
    w(_pack_ix(x.broker_id))
UnregisterBrokerRequest._READERS = {
    0: _read_unregister_broker_request_v0,
}
UnregisterBrokerRequest._WRITERS = {
    0: _write_unregister_broker_request_v0,
}
