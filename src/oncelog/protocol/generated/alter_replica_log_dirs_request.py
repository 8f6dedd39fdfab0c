# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class AlterReplicaLogDirTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partitions", "int32", "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class AlterReplicaLogDir(Struct):
    __slots__ = ("path", "topics")
    FIELDS = (
        Field("path", "string", "0+"),
        Field("topics", AlterReplicaLogDirTopic, "0+", is_array=True),
    )

    def __init__(
        self,
        path: str = "",
        topics: list[AlterReplicaLogDirTopic] = EMPTY,
    ) -> None:
        self.path = path
        self.topics = [] if topics is EMPTY else topics


class AlterReplicaLogDirsRequest(Message):
    API_KEY = 34
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("dirs",)
    FIELDS = (
        Field("dirs", AlterReplicaLogDir, "0+", is_array=True),
    )

    def __init__(
        self,
        dirs: list[AlterReplicaLogDir] = EMPTY,
    ) -> None:
        self.dirs = [] if dirs is EMPTY else dirs
