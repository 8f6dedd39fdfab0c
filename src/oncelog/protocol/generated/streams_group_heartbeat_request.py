# Generated from protocol/schemas by `python -m oncelog.protocol.generator`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_Hx = _Struct(">Hx").pack
_pack_Tx = _Struct(">?x").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_pack_ii = _Struct(">ii").pack
_pack_iqx = _Struct(">iqx").pack
_unpack_HB = _Struct(">HB").unpack_from
_unpack_TB = _Struct(">?B").unpack_from
_unpack_b = _Struct(">b").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ib = _Struct(">ib").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_iiB = _Struct(">iiB").unpack_from
_unpack_iqB = _Struct(">iqB").unpack_from


class KeyValue(Struct):
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


class TaskIds(Struct):
    __slots__ = ("subtopology_id", "partitions")

    def __init__(
        self,
        subtopology_id: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is EMPTY else partitions


class Endpoint(Struct):
    __slots__ = ("host", "port")

    def __init__(
        self,
        host: str = "",  # 0+
        port: int = 0,  # 0+
    ) -> None:
        self.host = host
        self.port = port


class TaskOffset(Struct):
    __slots__ = ("subtopology_id", "partition", "offset")

    def __init__(
        self,
        subtopology_id: str = "",  # 0+
        partition: int = 0,  # 0+
        offset: int = 0,  # 0+
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partition = partition
        self.offset = offset


class TopicInfo(Struct):
    __slots__ = ("name", "partitions", "replication_factor", "topic_configs")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: int = 0,  # 0+
        replication_factor: int = 0,  # 0+
        topic_configs: list[KeyValue] = EMPTY,  # 0+
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


class Topology(Struct):
    __slots__ = ("epoch", "subtopologies")

    def __init__(
        self,
        epoch: int = 0,  # 0+
        subtopologies: list[Subtopology] = EMPTY,  # 0+
    ) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is EMPTY else subtopologies


class StreamsGroupHeartbeatRequest(Message):
    API_KEY = 88
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("group_id", "member_id", "member_epoch", "endpoint_information_epoch", "instance_id", "rack_id", "rebalance_timeout_ms", "topology", "active_tasks", "standby_tasks", "warmup_tasks", "process_id", "user_endpoint", "client_tags", "task_offsets", "task_end_offsets", "shutdown_application")

    def __init__(
        self,
        group_id: str = "",  # 0+
        member_id: str = "",  # 0+
        member_epoch: int = 0,  # 0+
        endpoint_information_epoch: int = 0,  # 0+
        instance_id: str | None = None,  # 0+
        rack_id: str | None = None,  # 0+
        rebalance_timeout_ms: int = -1,  # 0+
        topology: Topology | None = None,  # 0+
        active_tasks: list[TaskIds] | None = None,  # 0+
        standby_tasks: list[TaskIds] | None = None,  # 0+
        warmup_tasks: list[TaskIds] | None = None,  # 0+
        process_id: str | None = None,  # 0+
        user_endpoint: Endpoint | None = None,  # 0+
        client_tags: list[KeyValue] | None = None,  # 0+
        task_offsets: list[TaskOffset] | None = None,  # 0+
        task_end_offsets: list[TaskOffset] | None = None,  # 0+
        shutdown_application: bool = False,  # 0+
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application


def _read_key_value_v0(data: bytes, pos: int, size: int) -> tuple[KeyValue, int]:
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
        raise malformed("StreamsGroupHeartbeatRequest.KeyValue", at, pos, error) from None
    return KeyValue(key, value_), pos


def _write_key_value_v0(w: Append, x: KeyValue) -> None:
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
        raise malformed("StreamsGroupHeartbeatRequest.CopartitionGroup", at, pos, error) from None
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


def _read_task_ids_v0(data: bytes, pos: int, size: int) -> tuple[TaskIds, int]:
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
        at = "partitions"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupHeartbeatRequest.TaskIds", at, pos, error) from None
    return TaskIds(subtopology_id, partitions), pos


def _write_task_ids_v0(w: Append, x: TaskIds) -> None:
    subtopology_id = x.subtopology_id
    subtopology_id_bytes = subtopology_id.encode()
    count = len(subtopology_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(subtopology_id_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_endpoint_v0(data: bytes, pos: int, size: int) -> tuple[Endpoint, int]:
    at = "host"
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
        host = data[pos:end].decode()
        pos = end
        at = "port"
        port, tags = _unpack_HB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupHeartbeatRequest.Endpoint", at, pos, error) from None
    return Endpoint(host, port), pos


def _write_endpoint_v0(w: Append, x: Endpoint) -> None:
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(host_bytes)
    w(_pack_Hx(x.port))


def _read_task_offset_v0(data: bytes, pos: int, size: int) -> tuple[TaskOffset, int]:
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
        at = "partition"
        partition, offset, tags = _unpack_iqB(data, pos)
        pos += 13
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupHeartbeatRequest.TaskOffset", at, pos, error) from None
    return TaskOffset(subtopology_id, partition, offset), pos


def _write_task_offset_v0(w: Append, x: TaskOffset) -> None:
    subtopology_id = x.subtopology_id
    subtopology_id_bytes = subtopology_id.encode()
    count = len(subtopology_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(subtopology_id_bytes)
    w(_pack_iqx(x.partition, x.offset))


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
        topic_configs: list[KeyValue] = []
        for _ in range(count):
            topic_configs_item, pos = _read_key_value_v0(data, pos, size)
            topic_configs.append(topic_configs_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupHeartbeatRequest.TopicInfo", at, pos, error) from None
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
        _write_key_value_v0(w, topic_configs_item)
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
        raise malformed("StreamsGroupHeartbeatRequest.Subtopology", at, pos, error) from None
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


def _read_topology_v0(data: bytes, pos: int, size: int) -> tuple[Topology, int]:
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
        raise malformed("StreamsGroupHeartbeatRequest.Topology", at, pos, error) from None
    return Topology(epoch, subtopologies), pos


def _write_topology_v0(w: Append, x: Topology) -> None:
    subtopologies = x.subtopologies
    count = len(subtopologies) + 1
    w(_pack_iB(x.epoch, count) if count < 128 else _pack_i(x.epoch) + uvarint(count))
    for subtopologies_item in subtopologies:
        _write_subtopology_v0(w, subtopologies_item)
    w(b"\0")


def _read_streams_group_heartbeat_request_v0(data: bytes, pos: int, size: int) -> tuple[StreamsGroupHeartbeatRequest, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "member_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "member_epoch"
        member_epoch, endpoint_information_epoch, count = _unpack_iiB(data, pos)
        pos += 9
        at = "instance_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        instance_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            instance_id = data[pos:end].decode()
            pos = end
        at = "rack_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        rack_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            rack_id = data[pos:end].decode()
            pos = end
        at = "rebalance_timeout_ms"
        rebalance_timeout_ms, present = _unpack_ib(data, pos)
        pos += 5
        topology: Topology | None = None
        if present >= 0:
            topology, pos = _read_topology_v0(data, pos, size)
        at = "active_tasks"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        active_tasks: list[TaskIds] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            active_tasks = []
            for _ in range(count):
                active_tasks_item, pos = _read_task_ids_v0(data, pos, size)
                active_tasks.append(active_tasks_item)
        at = "standby_tasks"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        standby_tasks: list[TaskIds] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            standby_tasks = []
            for _ in range(count):
                standby_tasks_item, pos = _read_task_ids_v0(data, pos, size)
                standby_tasks.append(standby_tasks_item)
        at = "warmup_tasks"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        warmup_tasks: list[TaskIds] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            warmup_tasks = []
            for _ in range(count):
                warmup_tasks_item, pos = _read_task_ids_v0(data, pos, size)
                warmup_tasks.append(warmup_tasks_item)
        at = "process_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        process_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            process_id = data[pos:end].decode()
            pos = end
        at = "user_endpoint"
        present, = _unpack_b(data, pos)
        pos += 1
        user_endpoint: Endpoint | None = None
        if present >= 0:
            user_endpoint, pos = _read_endpoint_v0(data, pos, size)
        at = "client_tags"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        client_tags: list[KeyValue] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            client_tags = []
            for _ in range(count):
                client_tags_item, pos = _read_key_value_v0(data, pos, size)
                client_tags.append(client_tags_item)
        at = "task_offsets"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        task_offsets: list[TaskOffset] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            task_offsets = []
            for _ in range(count):
                task_offsets_item, pos = _read_task_offset_v0(data, pos, size)
                task_offsets.append(task_offsets_item)
        at = "task_end_offsets"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        task_end_offsets: list[TaskOffset] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            task_end_offsets = []
            for _ in range(count):
                task_end_offsets_item, pos = _read_task_offset_v0(data, pos, size)
                task_end_offsets.append(task_end_offsets_item)
        at = "shutdown_application"
        shutdown_application, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("StreamsGroupHeartbeatRequest", at, pos, error) from None
    return StreamsGroupHeartbeatRequest(group_id, member_id, member_epoch, endpoint_information_epoch, instance_id, rack_id, rebalance_timeout_ms, topology, active_tasks, standby_tasks, warmup_tasks, process_id, user_endpoint, client_tags, task_offsets, task_end_offsets, shutdown_application), pos


def _write_streams_group_heartbeat_request_v0(w: Append, x: StreamsGroupHeartbeatRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(member_id_bytes)
    instance_id = x.instance_id
    w(_pack_ii(x.member_epoch, x.endpoint_information_epoch))
    if instance_id is None:
        w(b"\0")
    else:
        instance_id_bytes = instance_id.encode()
        count = len(instance_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(instance_id_bytes)
    rack_id = x.rack_id
    if rack_id is None:
        w(b"\0")
    else:
        rack_id_bytes = rack_id.encode()
        count = len(rack_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(rack_id_bytes)
    topology = x.topology
    w(_pack_i(x.rebalance_timeout_ms))
    if topology is None:
        w(b"\xff")
    else:
        w(b"\x01")
        _write_topology_v0(w, topology)
    active_tasks = x.active_tasks
    if active_tasks is None:
        w(b"\0")
    else:
        count = len(active_tasks) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for active_tasks_item in active_tasks:
            _write_task_ids_v0(w, active_tasks_item)
    standby_tasks = x.standby_tasks
    if standby_tasks is None:
        w(b"\0")
    else:
        count = len(standby_tasks) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for standby_tasks_item in standby_tasks:
            _write_task_ids_v0(w, standby_tasks_item)
    warmup_tasks = x.warmup_tasks
    if warmup_tasks is None:
        w(b"\0")
    else:
        count = len(warmup_tasks) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for warmup_tasks_item in warmup_tasks:
            _write_task_ids_v0(w, warmup_tasks_item)
    process_id = x.process_id
    if process_id is None:
        w(b"\0")
    else:
        process_id_bytes = process_id.encode()
        count = len(process_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(process_id_bytes)
    user_endpoint = x.user_endpoint
    if user_endpoint is None:
        w(b"\xff")
    else:
        w(b"\x01")
        _write_endpoint_v0(w, user_endpoint)
    client_tags = x.client_tags
    if client_tags is None:
        w(b"\0")
    else:
        count = len(client_tags) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for client_tags_item in client_tags:
            _write_key_value_v0(w, client_tags_item)
    task_offsets = x.task_offsets
    if task_offsets is None:
        w(b"\0")
    else:
        count = len(task_offsets) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for task_offsets_item in task_offsets:
            _write_task_offset_v0(w, task_offsets_item)
    task_end_offsets = x.task_end_offsets
    if task_end_offsets is None:
        w(b"\0")
    else:
        count = len(task_end_offsets) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for task_end_offsets_item in task_end_offsets:
            _write_task_offset_v0(w, task_end_offsets_item)
    w(_pack_Tx(x.shutdown_application))
StreamsGroupHeartbeatRequest._READERS = {
    0: _read_streams_group_heartbeat_request_v0,
}
StreamsGroupHeartbeatRequest._WRITERS = {
    0: _write_streams_group_heartbeat_request_v0,
}
