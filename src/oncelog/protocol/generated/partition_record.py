# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Uuid
from oncelog.protocol.wire import Message


class PartitionRecord(Message):
    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("partition_id", "topic_id", "replicas", "isr", "removing_replicas", "adding_replicas", "leader", "leader_recovery_state", "leader_epoch", "partition_epoch", "directories", "eligible_leader_replicas", "last_known_elr")
    FIELDS = (
        Field("partition_id", "int32", "0+", default=-1),
        Field("topic_id", "uuid", "0+"),
        Field("replicas", "int32", "0+", is_array=True),
        Field("isr", "int32", "0+", is_array=True),
        Field("removing_replicas", "int32", "0+", is_array=True),
        Field("adding_replicas", "int32", "0+", is_array=True),
        Field("leader", "int32", "0+", default=-1),
        Field("leader_recovery_state", "int8", "0+", tag=0, tagged="0+"),
        Field("leader_epoch", "int32", "0+", default=-1),
        Field("partition_epoch", "int32", "0+", default=-1),
        Field("directories", "uuid", "1+", is_array=True),
        Field("eligible_leader_replicas", "int32", "2+", nullable="2+", tag=1, tagged="2+", default=None, is_array=True),
        Field("last_known_elr", "int32", "2+", nullable="2+", tag=2, tagged="2+", default=None, is_array=True),
    )

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: Uuid = ZERO_UUID,
        replicas: list[int] = EMPTY,
        isr: list[int] = EMPTY,
        removing_replicas: list[int] = EMPTY,
        adding_replicas: list[int] = EMPTY,
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: list[Uuid] = EMPTY,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.replicas = [] if replicas is EMPTY else replicas
        self.isr = [] if isr is EMPTY else isr
        self.removing_replicas = [] if removing_replicas is EMPTY else removing_replicas
        self.adding_replicas = [] if adding_replicas is EMPTY else adding_replicas
        self.leader = leader
        self.leader_recovery_state = leader_recovery_state
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = [] if directories is EMPTY else directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
