# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_q = _Struct(">q").pack
_pack_qx = _Struct(">qx").pack
_unpack_qB = _Struct(">qB").unpack_from


class ListTransactionsRequest(Message):
    API_KEY = 66
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("state_filters", "producer_id_filters", "duration_filter", "transactional_id_pattern")

    def __init__(
        self,
        state_filters: list[str] = EMPTY,  # 0+
        producer_id_filters: list[int] = EMPTY,  # 0+
        duration_filter: int = -1,  # 1+
        transactional_id_pattern: str | None = None,  # 2+
    ) -> None:
        self.state_filters = [] if state_filters is EMPTY else state_filters
        self.producer_id_filters = [] if producer_id_filters is EMPTY else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern


def _read_list_transactions_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListTransactionsRequest, int]:
    at = "state_filters"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        state_filters: list[str] = []
        for _ in range(count):
            count = data[pos]
            pos += 1
            if count > 127:
                count, pos = string_length_tail(data, pos, count)
            if not count:
                raise null_value(count)
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            state_filters_item = data[pos:end].decode()
            pos = end
            state_filters.append(state_filters_item)
        at = "producer_id_filters"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 8
        if end > size:
            raise overrun(count * 8, size - pos)
        if limit is not None:
            limit.take(count)
        producer_id_filters: list[int] = list(unpack_from(f">{count}q", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListTransactionsRequest", at, pos, error) from None
    return ListTransactionsRequest(state_filters, producer_id_filters, -1, None), pos


def _write_list_transactions_request_v0(w: Append, x: ListTransactionsRequest) -> None:
    if x.duration_filter != -1:
        raise unsupported_field("ListTransactionsRequest", "duration_filter", "0")
    if x.transactional_id_pattern is not None:
        raise unsupported_field("ListTransactionsRequest", "transactional_id_pattern", "0")
    state_filters = x.state_filters
    count = len(state_filters) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for state_filters_item in state_filters:
        state_filters_item_bytes = state_filters_item.encode()
        count = len(state_filters_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(state_filters_item_bytes)
    producer_id_filters = x.producer_id_filters
    count = len(producer_id_filters) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(pack(f">{len(producer_id_filters)}q", *producer_id_filters))
    w(b"\0")


def _read_list_transactions_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListTransactionsRequest, int]:
    at = "state_filters"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        state_filters: list[str] = []
        for _ in range(count):
            count = data[pos]
            pos += 1
            if count > 127:
                count, pos = string_length_tail(data, pos, count)
            if not count:
                raise null_value(count)
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            state_filters_item = data[pos:end].decode()
            pos = end
            state_filters.append(state_filters_item)
        at = "producer_id_filters"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 8
        if end > size:
            raise overrun(count * 8, size - pos)
        if limit is not None:
            limit.take(count)
        producer_id_filters: list[int] = list(unpack_from(f">{count}q", data, pos))
        pos = end
        at = "duration_filter"
        duration_filter, tags = _unpack_qB(data, pos)
        pos += 9
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListTransactionsRequest", at, pos, error) from None
    return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, None), pos


def _write_list_transactions_request_v1(w: Append, x: ListTransactionsRequest) -> None:
    if x.transactional_id_pattern is not None:
        raise unsupported_field("ListTransactionsRequest", "transactional_id_pattern", "1")
    state_filters = x.state_filters
    count = len(state_filters) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for state_filters_item in state_filters:
        state_filters_item_bytes = state_filters_item.encode()
        count = len(state_filters_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(state_filters_item_bytes)
    producer_id_filters = x.producer_id_filters
    count = len(producer_id_filters) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(pack(f">{len(producer_id_filters)}q", *producer_id_filters))
    w(_pack_qx(x.duration_filter))


def _read_list_transactions_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListTransactionsRequest, int]:
    at = "state_filters"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        state_filters: list[str] = []
        for _ in range(count):
            count = data[pos]
            pos += 1
            if count > 127:
                count, pos = string_length_tail(data, pos, count)
            if not count:
                raise null_value(count)
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            state_filters_item = data[pos:end].decode()
            pos = end
            state_filters.append(state_filters_item)
        at = "producer_id_filters"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 8
        if end > size:
            raise overrun(count * 8, size - pos)
        if limit is not None:
            limit.take(count)
        producer_id_filters: list[int] = list(unpack_from(f">{count}q", data, pos))
        pos = end
        at = "duration_filter"
        duration_filter, count = _unpack_qB(data, pos)
        pos += 9
        at = "transactional_id_pattern"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        transactional_id_pattern: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            transactional_id_pattern = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListTransactionsRequest", at, pos, error) from None
    return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, transactional_id_pattern), pos


def _write_list_transactions_request_v2(w: Append, x: ListTransactionsRequest) -> None:
    state_filters = x.state_filters
    count = len(state_filters) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for state_filters_item in state_filters:
        state_filters_item_bytes = state_filters_item.encode()
        count = len(state_filters_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(state_filters_item_bytes)
    producer_id_filters = x.producer_id_filters
    count = len(producer_id_filters) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(pack(f">{len(producer_id_filters)}q", *producer_id_filters))
    transactional_id_pattern = x.transactional_id_pattern
    w(_pack_q(x.duration_filter))
    if transactional_id_pattern is None:
        w(b"\0")
    else:
        transactional_id_pattern_bytes = transactional_id_pattern.encode()
        count = len(transactional_id_pattern_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(transactional_id_pattern_bytes)
    w(b"\0")
ListTransactionsRequest._READERS = {
    0: _read_list_transactions_request_v0,
    1: _read_list_transactions_request_v1,
    2: _read_list_transactions_request_v2,
}
ListTransactionsRequest._WRITERS = {
    0: _write_list_transactions_request_v0,
    1: _write_list_transactions_request_v1,
    2: _write_list_transactions_request_v2,
}
