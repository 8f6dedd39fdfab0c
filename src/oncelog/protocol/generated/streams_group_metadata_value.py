# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Buffer, Message, Struct, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, string_length, string_length_tail, tag_size, uvarint, uvarint_tail, write_tags

_pack_i = _Struct(">i").pack
_pack_iq = _Struct(">iq").pack
_unpack_i = _Struct(">i").unpack_from
_unpack_iqB = _Struct(">iqB").unpack_from


class LastAssignmentConfig(Struct):
    __slots__ = ("key", "value")

    def __init__(
        self,
        key: str = "",  # 0+
        value: str = "",  # 0+
    ) -> None:
        self.key = key
        self.value = value


class StreamsGroupMetadataValue(Message):
    API_KEY = 17
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("epoch", "metadata_hash", "validated_topology_epoch", "last_assignment_configs")

    def __init__(
        self,
        epoch: int = 0,  # 0+
        metadata_hash: int = 0,  # 0+
        validated_topology_epoch: int = -1,  # 0+, tag 0
        last_assignment_configs: list[LastAssignmentConfig] | None = EMPTY,  # 0+, tag 1
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs = [] if last_assignment_configs is EMPTY else last_assignment_configs


def _read_last_assignment_config_v0(data: bytes, pos: int, size: int) -> tuple[LastAssignmentConfig, int]:
    at = "key"
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
        key = data[pos:end].decode()
        pos = end
        at = "value"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        value_ = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupMetadataValue.LastAssignmentConfig", at, pos, error) from None
    return LastAssignmentConfig(key, value_), pos


def _write_last_assignment_config_v0(w: Append, x: LastAssignmentConfig) -> None:
    key = x.key
    key_bytes = key.encode()
    count = len(key_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(key_bytes)
    value_ = x.value
    value__bytes = value_.encode()
    count = len(value__bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(value__bytes)
    w(b"\0")


def _read_streams_group_metadata_value_v0(data: bytes, pos: int, size: int) -> tuple[StreamsGroupMetadataValue, int]:
    at = "epoch"
    try:
        epoch, metadata_hash, tags = _unpack_iqB(data, pos)
        pos += 13
        validated_topology_epoch: int = -1
        last_assignment_configs: list[LastAssignmentConfig] | None = []
        if tags:
            at = "tagged fields"
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "validated_topology_epoch"
                    validated_topology_epoch, = _unpack_i(data, pos)
                    pos += 4
                elif tag == 1:
                    at = "last_assignment_configs"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = uvarint_tail(data, pos, count)
                    last_assignment_configs = None
                    if count:
                        count -= 1
                        if count > size - pos:
                            raise overrun(count, size - pos)
                        last_assignment_configs = []
                        for _ in range(count):
                            last_assignment_configs_item, pos = _read_last_assignment_config_v0(data, pos, size)
                            last_assignment_configs.append(last_assignment_configs_item)
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupMetadataValue", at, pos, error) from None
    return StreamsGroupMetadataValue(epoch, metadata_hash, validated_topology_epoch, last_assignment_configs), pos


def _write_streams_group_metadata_value_v0(w: Append, x: StreamsGroupMetadataValue) -> None:
    w(_pack_iq(x.epoch, x.metadata_hash))
    tagged: list[tuple[int, bytes]] = []
    if x.validated_topology_epoch != -1:
        validated_topology_epoch_part: list[Buffer] = []
        validated_topology_epoch_part.append(_pack_i(x.validated_topology_epoch))
        tagged.append((0, b"".join(validated_topology_epoch_part)))
    if x.last_assignment_configs is None or x.last_assignment_configs:
        last_assignment_configs_part: list[Buffer] = []
        last_assignment_configs = x.last_assignment_configs
        if last_assignment_configs is None:
            last_assignment_configs_part.append(b"\0")
        else:
            count = len(last_assignment_configs) + 1
            last_assignment_configs_part.append(VARINT[count] if count < 128 else uvarint(count))
            for last_assignment_configs_item in last_assignment_configs:
                _write_last_assignment_config_v0(last_assignment_configs_part.append, last_assignment_configs_item)
        tagged.append((1, b"".join(last_assignment_configs_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
StreamsGroupMetadataValue._READERS = {
    0: _read_streams_group_metadata_value_v0,
}
StreamsGroupMetadataValue._WRITERS = {
    0: _write_streams_group_metadata_value_v0,
}
