# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_pack_q = _Struct(">q").pack
_pack_qB = _Struct(">qB").pack
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_qB = _Struct(">qB").unpack_from


class TransactionState(Struct):
    __slots__ = ("transactional_id", "producer_id", "transaction_state")

    def __init__(
        self,
        transactional_id: str = "",  # 0+
        producer_id: int = 0,  # 0+
        transaction_state: str = "",  # 0+
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state


class ListTransactionsResponse(Message):
    API_KEY = 66
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        unknown_state_filters: list[str] = EMPTY,  # 0+
        transaction_states: list[TransactionState] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters = [] if unknown_state_filters is EMPTY else unknown_state_filters
        self.transaction_states = [] if transaction_states is EMPTY else transaction_states


def _read_transaction_state_v0(data: bytes, pos: int, size: int) -> tuple[TransactionState, int]:
    at = "transactional_id"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        transactional_id = data[pos:end].decode()
        pos = end
        at = "producer_id"
        producer_id, count = _unpack_qB(data, pos)
        pos += 9
        at = "transaction_state"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        transaction_state = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListTransactionsResponse.TransactionState", at, pos, error) from None
    return TransactionState(transactional_id, producer_id, transaction_state), pos


def _write_transaction_state_v0(w: Append, x: TransactionState) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    count = len(transactional_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(transactional_id_bytes)
    transaction_state = x.transaction_state
    transaction_state_bytes = transaction_state.encode()
    count = len(transaction_state_bytes) + 1
    w(_pack_qB(x.producer_id, count) if count < 128 else _pack_q(x.producer_id) + string_length(count))
    w(transaction_state_bytes)
    w(b"\0")


def _read_list_transactions_response_v0(data: bytes, pos: int, size: int) -> tuple[ListTransactionsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "unknown_state_filters"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        unknown_state_filters: list[str] = []
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
            unknown_state_filters_item = data[pos:end].decode()
            pos = end
            unknown_state_filters.append(unknown_state_filters_item)
        at = "transaction_states"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        transaction_states: list[TransactionState] = []
        for _ in range(count):
            transaction_states_item, pos = _read_transaction_state_v0(data, pos, size)
            transaction_states.append(transaction_states_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListTransactionsResponse", at, pos, error) from None
    return ListTransactionsResponse(throttle_time_ms, error_code, unknown_state_filters, transaction_states), pos


def _write_list_transactions_response_v0(w: Append, x: ListTransactionsResponse) -> None:
    unknown_state_filters = x.unknown_state_filters
    count = len(unknown_state_filters) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for unknown_state_filters_item in unknown_state_filters:
        unknown_state_filters_item_bytes = unknown_state_filters_item.encode()
        count = len(unknown_state_filters_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(unknown_state_filters_item_bytes)
    transaction_states = x.transaction_states
    count = len(transaction_states) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for transaction_states_item in transaction_states:
        _write_transaction_state_v0(w, transaction_states_item)
    w(b"\0")
ListTransactionsResponse._READERS = {
    0: _read_list_transactions_response_v0,
    1: _read_list_transactions_response_v0,
    2: _read_list_transactions_response_v0,
}
ListTransactionsResponse._WRITERS = {
    0: _write_list_transactions_response_v0,
    1: _write_list_transactions_response_v0,
    2: _write_list_transactions_response_v0,
}
