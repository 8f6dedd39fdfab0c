# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from


class TopicConfig(Struct):
    __slots__ = ("key", "value")

    def __init__(
        self,
        key: str = "",  # 0+
        value: str = "",  # 0+
    ) -> None:
        self.key = key
        self.value = value


class CopartitionGroup(Struct):
    __slots__ = ("source_topics", "source_topic_regex", "repartition_source_topics")

    def __init__(
        self,
        source_topics: list[int] = EMPTY,  # 0+
        source_topic_regex: list[int] = EMPTY,  # 0+
        repartition_source_topics: list[int] = EMPTY,  # 0+
    ) -> None:
        self.source_topics = [] if source_topics is EMPTY else source_topics
        self.source_topic_regex = [] if source_topic_regex is EMPTY else source_topic_regex
        self.repartition_source_topics = [] if repartition_source_topics is EMPTY else repartition_source_topics


class TopicInfo(Struct):
    __slots__ = ("name", "partitions", "replication_factor", "topic_configs")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: int = 0,  # 0+
        replication_factor: int = 0,  # 0+
        topic_configs: list[TopicConfig] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = [] if topic_configs is EMPTY else topic_configs


class Subtopology(Struct):
    __slots__ = ("subtopology_id", "source_topics", "source_topic_regex", "state_changelog_topics", "repartition_sink_topics", "repartition_source_topics", "copartition_groups")

    def __init__(
        self,
        subtopology_id: str = "",  # 0+
        source_topics: list[str] = EMPTY,  # 0+
        source_topic_regex: list[str] = EMPTY,  # 0+
        state_changelog_topics: list[TopicInfo] = EMPTY,  # 0+
        repartition_sink_topics: list[str] = EMPTY,  # 0+
        repartition_source_topics: list[TopicInfo] = EMPTY,  # 0+
        copartition_groups: list[CopartitionGroup] = EMPTY,  # 0+
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is EMPTY else source_topics
        self.source_topic_regex = [] if source_topic_regex is EMPTY else source_topic_regex
        self.state_changelog_topics = [] if state_changelog_topics is EMPTY else state_changelog_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is EMPTY else repartition_sink_topics
        self.repartition_source_topics = [] if repartition_source_topics is EMPTY else repartition_source_topics
        self.copartition_groups = [] if copartition_groups is EMPTY else copartition_groups


class StreamsGroupTopologyValue(Message):
    API_KEY = 23
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("epoch", "subtopologies")

    def __init__(
        self,
        epoch: int = 0,  # 0+
        subtopologies: list[Subtopology] = EMPTY,  # 0+
    ) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is EMPTY else subtopologies


def _read_topic_config_v0(data: bytes, pos: int, size: int) -> tuple[TopicConfig, int]:
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
        raise malformed("StreamsGroupTopologyValue.TopicConfig", at, pos, error) from None
    return TopicConfig(key, value_), pos


def _write_topic_config_v0(w: Append, x: TopicConfig) -> None:
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


def _read_copartition_group_v0(data: bytes, pos: int, size: int) -> tuple[CopartitionGroup, int]:
    at = "source_topics"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 2
        if end > size:
            raise overrun(count * 2, size - pos)
        source_topics: list[int] = list(unpack_from(f">{count}h", data, pos))
        pos = end
        at = "source_topic_regex"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 2
        if end > size:
            raise overrun(count * 2, size - pos)
        source_topic_regex: list[int] = list(unpack_from(f">{count}h", data, pos))
        pos = end
        at = "repartition_source_topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 2
        if end > size:
            raise overrun(count * 2, size - pos)
        repartition_source_topics: list[int] = list(unpack_from(f">{count}h", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupTopologyValue.CopartitionGroup", at, pos, error) from None
    return CopartitionGroup(source_topics, source_topic_regex, repartition_source_topics), pos


def _write_copartition_group_v0(w: Append, x: CopartitionGroup) -> None:
    source_topics = x.source_topics
    count = len(source_topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(pack(f">{len(source_topics)}h", *source_topics))
    source_topic_regex = x.source_topic_regex
    count = len(source_topic_regex) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(pack(f">{len(source_topic_regex)}h", *source_topic_regex))
    repartition_source_topics = x.repartition_source_topics
    count = len(repartition_source_topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(pack(f">{len(repartition_source_topics)}h", *repartition_source_topics))
    w(b"\0")


def _read_topic_info_v0(data: bytes, pos: int, size: int) -> tuple[TopicInfo, int]:
    at = "name"
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
        name = data[pos:end].decode()
        pos = end
        at = "partitions"
        partitions, replication_factor, count = _unpack_ihB(data, pos)
        pos += 7
        at = "topic_configs"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topic_configs: list[TopicConfig] = []
        for _ in range(count):
            topic_configs_item, pos = _read_topic_config_v0(data, pos, size)
            topic_configs.append(topic_configs_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupTopologyValue.TopicInfo", at, pos, error) from None
    return TopicInfo(name, partitions, replication_factor, topic_configs), pos


def _write_topic_info_v0(w: Append, x: TopicInfo) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    topic_configs = x.topic_configs
    count = len(topic_configs) + 1
    w(_pack_ihB(x.partitions, x.replication_factor, count) if count < 128 else _pack_ih(x.partitions, x.replication_factor) + uvarint(count))
    for topic_configs_item in topic_configs:
        _write_topic_config_v0(w, topic_configs_item)
    w(b"\0")


def _read_subtopology_v0(data: bytes, pos: int, size: int) -> tuple[Subtopology, int]:
    at = "subtopology_id"
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
        subtopology_id = data[pos:end].decode()
        pos = end
        at = "source_topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        source_topics: list[str] = []
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
            source_topics_item = data[pos:end].decode()
            pos = end
            source_topics.append(source_topics_item)
        at = "source_topic_regex"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        source_topic_regex: list[str] = []
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
            source_topic_regex_item = data[pos:end].decode()
            pos = end
            source_topic_regex.append(source_topic_regex_item)
        at = "state_changelog_topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        state_changelog_topics: list[TopicInfo] = []
        for _ in range(count):
            state_changelog_topics_item, pos = _read_topic_info_v0(data, pos, size)
            state_changelog_topics.append(state_changelog_topics_item)
        at = "repartition_sink_topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        repartition_sink_topics: list[str] = []
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
            repartition_sink_topics_item = data[pos:end].decode()
            pos = end
            repartition_sink_topics.append(repartition_sink_topics_item)
        at = "repartition_source_topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        repartition_source_topics: list[TopicInfo] = []
        for _ in range(count):
            repartition_source_topics_item, pos = _read_topic_info_v0(data, pos, size)
            repartition_source_topics.append(repartition_source_topics_item)
        at = "copartition_groups"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        copartition_groups: list[CopartitionGroup] = []
        for _ in range(count):
            copartition_groups_item, pos = _read_copartition_group_v0(data, pos, size)
            copartition_groups.append(copartition_groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupTopologyValue.Subtopology", at, pos, error) from None
    return Subtopology(subtopology_id, source_topics, source_topic_regex, state_changelog_topics, repartition_sink_topics, repartition_source_topics, copartition_groups), pos


def _write_subtopology_v0(w: Append, x: Subtopology) -> None:
    subtopology_id = x.subtopology_id
    subtopology_id_bytes = subtopology_id.encode()
    count = len(subtopology_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(subtopology_id_bytes)
    source_topics = x.source_topics
    count = len(source_topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for source_topics_item in source_topics:
        source_topics_item_bytes = source_topics_item.encode()
        count = len(source_topics_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(source_topics_item_bytes)
    source_topic_regex = x.source_topic_regex
    count = len(source_topic_regex) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for source_topic_regex_item in source_topic_regex:
        source_topic_regex_item_bytes = source_topic_regex_item.encode()
        count = len(source_topic_regex_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(source_topic_regex_item_bytes)
    state_changelog_topics = x.state_changelog_topics
    count = len(state_changelog_topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for state_changelog_topics_item in state_changelog_topics:
        _write_topic_info_v0(w, state_changelog_topics_item)
    repartition_sink_topics = x.repartition_sink_topics
    count = len(repartition_sink_topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for repartition_sink_topics_item in repartition_sink_topics:
        repartition_sink_topics_item_bytes = repartition_sink_topics_item.encode()
        count = len(repartition_sink_topics_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(repartition_sink_topics_item_bytes)
    repartition_source_topics = x.repartition_source_topics
    count = len(repartition_source_topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for repartition_source_topics_item in repartition_source_topics:
        _write_topic_info_v0(w, repartition_source_topics_item)
    copartition_groups = x.copartition_groups
    count = len(copartition_groups) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for copartition_groups_item in copartition_groups:
        _write_copartition_group_v0(w, copartition_groups_item)
    w(b"\0")


def _read_streams_group_topology_value_v0(data: bytes, pos: int, size: int) -> tuple[StreamsGroupTopologyValue, int]:
    at = "epoch"
    try:
        epoch, count = _unpack_iB(data, pos)
        pos += 5
        at = "subtopologies"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        subtopologies: list[Subtopology] = []
        for _ in range(count):
            subtopologies_item, pos = _read_subtopology_v0(data, pos, size)
            subtopologies.append(subtopologies_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupTopologyValue", at, pos, error) from None
    return StreamsGroupTopologyValue(epoch, subtopologies), pos


def _write_streams_group_topology_value_v0(w: Append, x: StreamsGroupTopologyValue) -> None:
    subtopologies = x.subtopologies
    count = len(subtopologies) + 1
    w(_pack_iB(x.epoch, count) if count < 128 else _pack_i(x.epoch) + uvarint(count))
    for subtopologies_item in subtopologies:
        _write_subtopology_v0(w, subtopologies_item)
    w(b"\0")
StreamsGroupTopologyValue._READERS = {
    0: _read_streams_group_topology_value_v0,
}
StreamsGroupTopologyValue._WRITERS = {
    0: _write_streams_group_topology_value_v0,
}
