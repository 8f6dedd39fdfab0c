# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations


from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail



class DescribeTransactionsRequest(Message):
    API_KEY = 65
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("transactional_ids",)

    def __init__(
        self,
        transactional_ids: list[str] = EMPTY,  # 0+
    ) -> None:
        self.transactional_ids = [] if transactional_ids is EMPTY else transactional_ids


def _read_describe_transactions_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeTransactionsRequest, int]:
    at = "transactional_ids"
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
        transactional_ids: list[str] = []
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
            transactional_ids_item = data[pos:end].decode()
            pos = end
            transactional_ids.append(transactional_ids_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTransactionsRequest", at, pos, error) from None
    return DescribeTransactionsRequest(transactional_ids), pos


def _write_describe_transactions_request_v0(w: Append, x: DescribeTransactionsRequest) -> None:
    transactional_ids = x.transactional_ids
    count = len(transactional_ids) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for transactional_ids_item in transactional_ids:
        transactional_ids_item_bytes = transactional_ids_item.encode()
        count = len(transactional_ids_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(transactional_ids_item_bytes)
    w(b"\0")
DescribeTransactionsRequest._READERS = {
    0: _read_describe_transactions_request_v0,
}
DescribeTransactionsRequest._WRITERS = {
    0: _write_describe_transactions_request_v0,
}
