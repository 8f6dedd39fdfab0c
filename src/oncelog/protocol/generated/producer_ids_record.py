# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_iqqx = _Struct(">iqqx").pack
_unpack_iqqB = _Struct(">iqqB").unpack_from


class ProducerIdsRecord(Message):
    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("broker_id", "broker_epoch", "next_producer_id")

    def __init__(
        self,
        broker_id: int = 0,  # 0+
        broker_epoch: int = -1,  # 0+
        next_producer_id: int = 0,  # 0+
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.next_producer_id = next_producer_id


def _read_producer_ids_record_v0(data: bytes, pos: int, size: int) -> tuple[ProducerIdsRecord, int]:
    at = "broker_id"
    try:
        broker_id, broker_epoch, next_producer_id, tags = _unpack_iqqB(data, pos)
        pos += 21
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ProducerIdsRecord", at, pos, error) from None
    return ProducerIdsRecord(broker_id, broker_epoch, next_producer_id), pos


def _write_producer_ids_record_v0(w: Append, x: ProducerIdsRecord) -> None:
    w(_pack_iqqx(x.broker_id, x.broker_epoch, x.next_producer_id))
ProducerIdsRecord._READERS = {
    0: _read_producer_ids_record_v0,
}
ProducerIdsRecord._WRITERS = {
    0: _write_producer_ids_record_v0,
}
