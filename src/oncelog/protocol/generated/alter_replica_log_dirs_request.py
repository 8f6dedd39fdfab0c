# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class AlterReplicaLogDirTopic(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class AlterReplicaLogDir(Struct):
    __slots__ = ("path", "topics")

    def __init__(
        self,
        path: str = "",  # 0+
        topics: list[AlterReplicaLogDirTopic] = EMPTY,  # 0+
    ) -> None:
        self.path = path
        self.topics = [] if topics is EMPTY else topics


class AlterReplicaLogDirsRequest(Message):
    API_KEY = 34
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("dirs",)

    def __init__(
        self,
        dirs: list[AlterReplicaLogDir] = EMPTY,  # 0+
    ) -> None:
        self.dirs = [] if dirs is EMPTY else dirs


def _read_alter_replica_log_dir_topic_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterReplicaLogDirTopic, int]:
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
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic", at, pos, error) from None
    return AlterReplicaLogDirTopic(name, partitions), pos


def _write_alter_replica_log_dir_topic_v1(w: Append, x: AlterReplicaLogDirTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))


def _read_alter_replica_log_dir_topic_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterReplicaLogDirTopic, int]:
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
        if limit is not None:
            limit.take(count)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic", at, pos, error) from None
    return AlterReplicaLogDirTopic(name, partitions), pos


def _write_alter_replica_log_dir_topic_v2(w: Append, x: AlterReplicaLogDirTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_alter_replica_log_dir_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterReplicaLogDir, int]:
    at = "path"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        path = data[pos:end].decode()
        pos = end
        at = "topics"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[AlterReplicaLogDirTopic] = []
        for _ in range(count):
            topics_item, pos = _read_alter_replica_log_dir_topic_v1(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsRequest.AlterReplicaLogDir", at, pos, error) from None
    return AlterReplicaLogDir(path, topics), pos


def _write_alter_replica_log_dir_v1(w: Append, x: AlterReplicaLogDir) -> None:
    path = x.path
    path_bytes = path.encode()
    w(_pack_h(len(path_bytes)))
    w(path_bytes)
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_alter_replica_log_dir_topic_v1(w, topics_item)


def _read_alter_replica_log_dir_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterReplicaLogDir, int]:
    at = "path"
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
        path = data[pos:end].decode()
        pos = end
        at = "topics"
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
        topics: list[AlterReplicaLogDirTopic] = []
        for _ in range(count):
            topics_item, pos = _read_alter_replica_log_dir_topic_v2(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsRequest.AlterReplicaLogDir", at, pos, error) from None
    return AlterReplicaLogDir(path, topics), pos


def _write_alter_replica_log_dir_v2(w: Append, x: AlterReplicaLogDir) -> None:
    path = x.path
    path_bytes = path.encode()
    count = len(path_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(path_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_alter_replica_log_dir_topic_v2(w, topics_item)
    w(b"\0")


def _read_alter_replica_log_dirs_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterReplicaLogDirsRequest, int]:
    at = "dirs"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        dirs: list[AlterReplicaLogDir] = []
        for _ in range(count):
            dirs_item, pos = _read_alter_replica_log_dir_v1(data, pos, size, limit)
            dirs.append(dirs_item)
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsRequest", at, pos, error) from None
    return AlterReplicaLogDirsRequest(dirs), pos


def _write_alter_replica_log_dirs_request_v1(w: Append, x: AlterReplicaLogDirsRequest) -> None:
    dirs = x.dirs
    w(_pack_i(len(dirs)))
    for dirs_item in dirs:
        _write_alter_replica_log_dir_v1(w, dirs_item)


def _read_alter_replica_log_dirs_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterReplicaLogDirsRequest, int]:
    at = "dirs"
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
        dirs: list[AlterReplicaLogDir] = []
        for _ in range(count):
            dirs_item, pos = _read_alter_replica_log_dir_v2(data, pos, size, limit)
            dirs.append(dirs_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsRequest", at, pos, error) from None
    return AlterReplicaLogDirsRequest(dirs), pos


def _write_alter_replica_log_dirs_request_v2(w: Append, x: AlterReplicaLogDirsRequest) -> None:
    dirs = x.dirs
    count = len(dirs) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for dirs_item in dirs:
        _write_alter_replica_log_dir_v2(w, dirs_item)
    w(b"\0")
AlterReplicaLogDirsRequest._READERS = {
    1: _read_alter_replica_log_dirs_request_v1,
    2: _read_alter_replica_log_dirs_request_v2,
}
AlterReplicaLogDirsRequest._WRITERS = {
    1: _write_alter_replica_log_dirs_request_v1,
    2: _write_alter_replica_log_dirs_request_v2,
}
