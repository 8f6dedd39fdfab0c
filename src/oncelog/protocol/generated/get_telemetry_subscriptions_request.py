# Generated from protocol/schemas by `python -m oncelog.protocol.generator`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, ZERO_UUID, Append, Message, Uuid, bad_uuid, malformed, skip_tags

_pack_Ux = _Struct(">16sx").pack
_unpack_UB = _Struct(">16sB").unpack_from


class GetTelemetrySubscriptionsRequest(Message):
    API_KEY = 71
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("client_instance_id",)

    def __init__(
        self,
        client_instance_id: Uuid = ZERO_UUID,  # 0+
    ) -> None:
        self.client_instance_id = client_instance_id


def _read_get_telemetry_subscriptions_request_v0(data: bytes, pos: int, size: int) -> tuple[GetTelemetrySubscriptionsRequest, int]:
    at = "client_instance_id"
    try:
        client_instance_id, tags = _unpack_UB(data, pos)
        pos += 17
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("GetTelemetrySubscriptionsRequest", at, pos, error) from None
    return GetTelemetrySubscriptionsRequest(client_instance_id), pos


def _write_get_telemetry_subscriptions_request_v0(w: Append, x: GetTelemetrySubscriptionsRequest) -> None:
    client_instance_id = x.client_instance_id
    if len(client_instance_id) != 16:
        raise bad_uuid("GetTelemetrySubscriptionsRequest", "client_instance_id", client_instance_id)
    w(_pack_Ux(client_instance_id))
GetTelemetrySubscriptionsRequest._READERS = {
    0: _read_get_telemetry_subscriptions_request_v0,
}
GetTelemetrySubscriptionsRequest._WRITERS = {
    0: _write_get_telemetry_subscriptions_request_v0,
}
