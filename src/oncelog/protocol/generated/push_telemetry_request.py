# Generated from protocol/schemas by `python -m oncelog.protocol.generator`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, ZERO_UUID, Append, Message, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, uvarint, uvarint_tail

_pack_UiTb = _Struct(">16si?b").pack
_pack_UiTbB = _Struct(">16si?bB").pack
_unpack_UiTbB = _Struct(">16si?bB").unpack_from


class PushTelemetryRequest(Message):
    API_KEY = 72
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("client_instance_id", "subscription_id", "terminating", "compression_type", "metrics")

    def __init__(
        self,
        client_instance_id: Uuid = ZERO_UUID,  # 0+
        subscription_id: int = 0,  # 0+
        terminating: bool = False,  # 0+
        compression_type: int = 0,  # 0+
        metrics: bytes = b"",  # 0+
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics


def _read_push_telemetry_request_v0(data: bytes, pos: int, size: int) -> tuple[PushTelemetryRequest, int]:
    at = "client_instance_id"
    try:
        client_instance_id, subscription_id, terminating, compression_type, count = _unpack_UiTbB(data, pos)
        pos += 23
        at = "metrics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        metrics = data[pos:end]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("PushTelemetryRequest", at, pos, error) from None
    return PushTelemetryRequest(client_instance_id, subscription_id, terminating, compression_type, metrics), pos


def _write_push_telemetry_request_v0(w: Append, x: PushTelemetryRequest) -> None:
    client_instance_id = x.client_instance_id
    if len(client_instance_id) != 16:
        raise bad_uuid("PushTelemetryRequest", "client_instance_id", client_instance_id)
    metrics = x.metrics
    count = len(metrics) + 1
    w(_pack_UiTbB(client_instance_id, x.subscription_id, x.terminating, x.compression_type, count) if count < 128 else _pack_UiTb(client_instance_id, x.subscription_id, x.terminating, x.compression_type) + uvarint(count))
    w(metrics)
    w(b"\0")
PushTelemetryRequest._READERS = {
    0: _read_push_telemetry_request_v0,
}
PushTelemetryRequest._WRITERS = {
    0: _write_push_telemetry_request_v0,
}
