# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, null_value, overrun

_pack_h = _Struct(">h").pack
_unpack_h = _Struct(">h").unpack_from


class TransactionLogKey(Message):
    API_KEY = 0
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("transactional_id",)

    def __init__(
        self,
        transactional_id: str = "",  # 0
    ) -> None:
        self.transactional_id = transactional_id


def _read_transaction_log_key_v0(data: bytes, pos: int, size: int) -> tuple[TransactionLogKey, int]:
    at = "transactional_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        transactional_id = data[pos:end].decode()
        pos = end
    except READ_ERRORS as error:
        raise malformed("TransactionLogKey", at, pos, error) from None
    return TransactionLogKey(transactional_id), pos


def _write_transaction_log_key_v0(w: Append, x: TransactionLogKey) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    w(_pack_h(len(transactional_id_bytes)))
    w(transactional_id_bytes)
TransactionLogKey._READERS = {
    0: _read_transaction_log_key_v0,
}
TransactionLogKey._WRITERS = {
    0: _write_transaction_log_key_v0,
}
