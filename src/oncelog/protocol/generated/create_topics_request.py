# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_iT = _Struct(">i?").pack
_pack_iTx = _Struct(">i?x").pack
_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_pack_ihi = _Struct(">ihi").pack
_pack_ii = _Struct(">ii").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iT = _Struct(">i?").unpack_from
_unpack_iTB = _Struct(">i?B").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ihi = _Struct(">ihi").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class CreatableReplicaAssignment(Struct):
    __slots__ = ("partition_index", "broker_ids")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        broker_ids: list[int] = EMPTY,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids = [] if broker_ids is EMPTY else broker_ids


class CreatableTopicConfig(Struct):
    __slots__ = ("name", "value")

    def __init__(
        self,
        name: str = "",  # 0+
        value: str | None = "",  # 0+
    ) -> None:
        self.name = name
        self.value = value


class CreatableTopic(Struct):
    __slots__ = ("name", "num_partitions", "replication_factor", "assignments", "configs")

    def __init__(
        self,
        name: str = "",  # 0+
        num_partitions: int = 0,  # 0+
        replication_factor: int = 0,  # 0+
        assignments: list[CreatableReplicaAssignment] = EMPTY,  # 0+
        configs: list[CreatableTopicConfig] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = [] if assignments is EMPTY else assignments
        self.configs = [] if configs is EMPTY else configs


class CreateTopicsRequest(Message):
    API_KEY = 19
    MIN_VERSION = 2
    MAX_VERSION = 7
    FLEXIBLE_FROM = 5
    __slots__ = ("topics", "timeout_ms", "validate_only")

    def __init__(
        self,
        topics: list[CreatableTopic] = EMPTY,  # 0+
        timeout_ms: int = 60000,  # 0+
        validate_only: bool = False,  # 1+
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only


def _read_creatable_replica_assignment_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreatableReplicaAssignment, int]:
    at = "partition_index"
    try:
        partition_index, count = _unpack_ii(data, pos)
        pos += 8
        at = "broker_ids"
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        broker_ids: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("CreateTopicsRequest.CreatableReplicaAssignment", at, pos, error) from None
    return CreatableReplicaAssignment(partition_index, broker_ids), pos


def _write_creatable_replica_assignment_v2(w: Append, x: CreatableReplicaAssignment) -> None:
    broker_ids = x.broker_ids
    w(_pack_ii(x.partition_index, len(broker_ids)))
    w(PACK_INT32S[len(broker_ids)](*broker_ids) if len(broker_ids) < 8 else pack(f">{len(broker_ids)}i", *broker_ids))


def _read_creatable_topic_config_v2(data: bytes, pos: int, size: int) -> tuple[CreatableTopicConfig, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "value"
        count, = _unpack_h(data, pos)
        pos += 2
        value_: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            value_ = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("CreateTopicsRequest.CreatableTopicConfig", at, pos, error) from None
    return CreatableTopicConfig(name, value_), pos


def _write_creatable_topic_config_v2(w: Append, x: CreatableTopicConfig) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    value_ = x.value
    value__bytes = b"" if value_ is None else value_.encode()
    w(_pack_h(-1 if value_ is None else len(value__bytes)))
    w(value__bytes)


def _read_creatable_replica_assignment_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreatableReplicaAssignment, int]:
    at = "partition_index"
    try:
        partition_index, count = _unpack_iB(data, pos)
        pos += 5
        at = "broker_ids"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        broker_ids: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateTopicsRequest.CreatableReplicaAssignment", at, pos, error) from None
    return CreatableReplicaAssignment(partition_index, broker_ids), pos


def _write_creatable_replica_assignment_v5(w: Append, x: CreatableReplicaAssignment) -> None:
    broker_ids = x.broker_ids
    count = len(broker_ids) + 1
    w(_pack_iB(x.partition_index, count) if count < 128 else _pack_i(x.partition_index) + uvarint(count))
    w(PACK_INT32S[len(broker_ids)](*broker_ids) if len(broker_ids) < 8 else pack(f">{len(broker_ids)}i", *broker_ids))
    w(b"\0")


def _read_creatable_topic_config_v5(data: bytes, pos: int, size: int) -> tuple[CreatableTopicConfig, int]:
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
        at = "value"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        value_: str | None = None
        if count:
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
        raise malformed("CreateTopicsRequest.CreatableTopicConfig", at, pos, error) from None
    return CreatableTopicConfig(name, value_), pos


def _write_creatable_topic_config_v5(w: Append, x: CreatableTopicConfig) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    value_ = x.value
    if value_ is None:
        w(b"\0")
    else:
        value__bytes = value_.encode()
        count = len(value__bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(value__bytes)
    w(b"\0")


def _read_creatable_topic_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreatableTopic, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "num_partitions"
        num_partitions, replication_factor, count = _unpack_ihi(data, pos)
        pos += 10
        at = "assignments"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        assignments: list[CreatableReplicaAssignment] = []
        for _ in range(count):
            assignments_item, pos = _read_creatable_replica_assignment_v2(data, pos, size, limit)
            assignments.append(assignments_item)
        at = "configs"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        configs: list[CreatableTopicConfig] = []
        for _ in range(count):
            configs_item, pos = _read_creatable_topic_config_v2(data, pos, size)
            configs.append(configs_item)
    except READ_ERRORS as error:
        raise malformed("CreateTopicsRequest.CreatableTopic", at, pos, error) from None
    return CreatableTopic(name, num_partitions, replication_factor, assignments, configs), pos


def _write_creatable_topic_v2(w: Append, x: CreatableTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    assignments = x.assignments
    w(_pack_ihi(x.num_partitions, x.replication_factor, len(assignments)))
    for assignments_item in assignments:
        _write_creatable_replica_assignment_v2(w, assignments_item)
    configs = x.configs
    w(_pack_i(len(configs)))
    for configs_item in configs:
        _write_creatable_topic_config_v2(w, configs_item)


def _read_creatable_topic_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreatableTopic, int]:
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
        at = "num_partitions"
        num_partitions, replication_factor, count = _unpack_ihB(data, pos)
        pos += 7
        at = "assignments"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        assignments: list[CreatableReplicaAssignment] = []
        for _ in range(count):
            assignments_item, pos = _read_creatable_replica_assignment_v5(data, pos, size, limit)
            assignments.append(assignments_item)
        at = "configs"
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
        configs: list[CreatableTopicConfig] = []
        for _ in range(count):
            configs_item, pos = _read_creatable_topic_config_v5(data, pos, size)
            configs.append(configs_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateTopicsRequest.CreatableTopic", at, pos, error) from None
    return CreatableTopic(name, num_partitions, replication_factor, assignments, configs), pos


def _write_creatable_topic_v5(w: Append, x: CreatableTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    assignments = x.assignments
    count = len(assignments) + 1
    w(_pack_ihB(x.num_partitions, x.replication_factor, count) if count < 128 else _pack_ih(x.num_partitions, x.replication_factor) + uvarint(count))
    for assignments_item in assignments:
        _write_creatable_replica_assignment_v5(w, assignments_item)
    configs = x.configs
    count = len(configs) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for configs_item in configs:
        _write_creatable_topic_config_v5(w, configs_item)
    w(b"\0")


def _read_create_topics_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreateTopicsRequest, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[CreatableTopic] = []
        for _ in range(count):
            topics_item, pos = _read_creatable_topic_v2(data, pos, size, limit)
            topics.append(topics_item)
        at = "timeout_ms"
        timeout_ms, validate_only = _unpack_iT(data, pos)
        pos += 5
    except READ_ERRORS as error:
        raise malformed("CreateTopicsRequest", at, pos, error) from None
    return CreateTopicsRequest(topics, timeout_ms, validate_only), pos


def _write_create_topics_request_v2(w: Append, x: CreateTopicsRequest) -> None:
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_creatable_topic_v2(w, topics_item)
    w(_pack_iT(x.timeout_ms, x.validate_only))


def _read_create_topics_request_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreateTopicsRequest, int]:
    at = "topics"
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
        topics: list[CreatableTopic] = []
        for _ in range(count):
            topics_item, pos = _read_creatable_topic_v5(data, pos, size, limit)
            topics.append(topics_item)
        at = "timeout_ms"
        timeout_ms, validate_only, tags = _unpack_iTB(data, pos)
        pos += 6
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateTopicsRequest", at, pos, error) from None
    return CreateTopicsRequest(topics, timeout_ms, validate_only), pos


def _write_create_topics_request_v5(w: Append, x: CreateTopicsRequest) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_creatable_topic_v5(w, topics_item)
    w(_pack_iTx(x.timeout_ms, x.validate_only))
CreateTopicsRequest._READERS = {
    2: _read_create_topics_request_v2,
    3: _read_create_topics_request_v2,
    4: _read_create_topics_request_v2,
    5: _read_create_topics_request_v5,
    6: _read_create_topics_request_v5,
    7: _read_create_topics_request_v5,
}
CreateTopicsRequest._WRITERS = {
    2: _write_create_topics_request_v2,
    3: _write_create_topics_request_v2,
    4: _write_create_topics_request_v2,
    5: _write_create_topics_request_v5,
    6: _write_create_topics_request_v5,
    7: _write_create_topics_request_v5,
}
