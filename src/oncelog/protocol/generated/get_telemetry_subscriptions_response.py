# Generated from protocol/schemas by `python -m oncelog.protocol.generator`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_ihUi = _Struct(">ih16si").pack
_pack_ihUiB = _Struct(">ih16siB").pack
_pack_iiT = _Struct(">ii?").pack
_pack_iiTB = _Struct(">ii?B").pack
_unpack_ihUiB = _Struct(">ih16siB").unpack_from
_unpack_iiTB = _Struct(">ii?B").unpack_from


class GetTelemetrySubscriptionsResponse(Message):
    API_KEY = 71
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "client_instance_id", "subscription_id", "accepted_compression_types", "push_interval_ms", "telemetry_max_bytes", "delta_temporality", "requested_metrics")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        client_instance_id: Uuid = ZERO_UUID,  # 0+
        subscription_id: int = 0,  # 0+
        accepted_compression_types: list[int] = EMPTY,  # 0+
        push_interval_ms: int = 0,  # 0+
        telemetry_max_bytes: int = 0,  # 0+
        delta_temporality: bool = False,  # 0+
        requested_metrics: list[str] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types = [] if accepted_compression_types is EMPTY else accepted_compression_types
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics = [] if requested_metrics is EMPTY else requested_metrics


def _read_get_telemetry_subscriptions_response_v0(data: bytes, pos: int, size: int) -> tuple[GetTelemetrySubscriptionsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, client_instance_id, subscription_id, count = _unpack_ihUiB(data, pos)
        pos += 27
        at = "accepted_compression_types"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count
        if end > size:
            raise overrun(count * 1, size - pos)
        accepted_compression_types: list[int] = list(unpack_from(f">{count}b", data, pos))
        pos = end
        at = "push_interval_ms"
        push_interval_ms, telemetry_max_bytes, delta_temporality, count = _unpack_iiTB(data, pos)
        pos += 10
        at = "requested_metrics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        requested_metrics: list[str] = []
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
            requested_metrics_item = data[pos:end].decode()
            pos = end
            requested_metrics.append(requested_metrics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("GetTelemetrySubscriptionsResponse", at, pos, error) from None
    return GetTelemetrySubscriptionsResponse(throttle_time_ms, error_code, client_instance_id, subscription_id, accepted_compression_types, push_interval_ms, telemetry_max_bytes, delta_temporality, requested_metrics), pos


def _write_get_telemetry_subscriptions_response_v0(w: Append, x: GetTelemetrySubscriptionsResponse) -> None:
    client_instance_id = x.client_instance_id
    if len(client_instance_id) != 16:
        raise bad_uuid("GetTelemetrySubscriptionsResponse", "client_instance_id", client_instance_id)
    accepted_compression_types = x.accepted_compression_types
    count = len(accepted_compression_types) + 1
    w(_pack_ihUiB(x.throttle_time_ms, x.error_code, client_instance_id, x.subscription_id, count) if count < 128 else _pack_ihUi(x.throttle_time_ms, x.error_code, client_instance_id, x.subscription_id) + uvarint(count))
    w(pack(f">{len(accepted_compression_types)}b", *accepted_compression_types))
    requested_metrics = x.requested_metrics
    count = len(requested_metrics) + 1
    w(_pack_iiTB(x.push_interval_ms, x.telemetry_max_bytes, x.delta_temporality, count) if count < 128 else _pack_iiT(x.push_interval_ms, x.telemetry_max_bytes, x.delta_temporality) + uvarint(count))
    for requested_metrics_item in requested_metrics:
        requested_metrics_item_bytes = requested_metrics_item.encode()
        count = len(requested_metrics_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(requested_metrics_item_bytes)
    w(b"\0")
GetTelemetrySubscriptionsResponse._READERS = {
    0: _read_get_telemetry_subscriptions_response_v0,
}
GetTelemetrySubscriptionsResponse._WRITERS = {
    0: _write_get_telemetry_subscriptions_response_v0,
}
