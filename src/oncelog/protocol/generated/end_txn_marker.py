# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed

_pack_i = _Struct(">i").pack
_unpack_i = _Struct(">i").unpack_from


class EndTxnMarker(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("coordinator_epoch",)

    def __init__(
        self,
        coordinator_epoch: int = 0,  # 0+
    ) -> None:
        self.coordinator_epoch = coordinator_epoch


def _read_end_txn_marker_v0(data: bytes, pos: int, size: int) -> tuple[EndTxnMarker, int]:
    at = "coordinator_epoch"
    try:
        coordinator_epoch, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("EndTxnMarker", at, pos, error) from None
    return EndTxnMarker(coordinator_epoch), pos


def _write_end_txn_marker_v0(w: Append, x: EndTxnMarker) -> None:
    w(_pack_i(x.coordinator_epoch))
EndTxnMarker._READERS = {
    0: _read_end_txn_marker_v0,
}
EndTxnMarker._WRITERS = {
    0: _write_end_txn_marker_v0,
}
