# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, Buffer, Message, Uuid, bad_uuid, malformed, many_tags, null_value, overrun, read_uvarint, tag_size, unsupported_field, uvarint, uvarint_tail, write_tags

_pack_b = _Struct(">b").pack
_pack_iU = _Struct(">i16s").pack
_pack_iUB = _Struct(">i16sB").pack
_pack_iii = _Struct(">iii").pack
_pack_iiiB = _Struct(">iiiB").pack
_unpack_b = _Struct(">b").unpack_from
_unpack_iUB = _Struct(">i16sB").unpack_from
_unpack_iiiB = _Struct(">iiiB").unpack_from


class PartitionRecord(Message):
    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("partition_id", "topic_id", "replicas", "isr", "removing_replicas", "adding_replicas", "leader", "leader_recovery_state", "leader_epoch", "partition_epoch", "directories", "eligible_leader_replicas", "last_known_elr")

    def __init__(
        self,
        partition_id: int = -1,  # 0+
        topic_id: Uuid = ZERO_UUID,  # 0+
        replicas: list[int] = EMPTY,  # 0+
        isr: list[int] = EMPTY,  # 0+
        removing_replicas: list[int] = EMPTY,  # 0+
        adding_replicas: list[int] = EMPTY,  # 0+
        leader: int = -1,  # 0+
        leader_recovery_state: int = 0,  # 0+, tag 0
        leader_epoch: int = -1,  # 0+
        partition_epoch: int = -1,  # 0+
        directories: list[Uuid] = EMPTY,  # 1+
        eligible_leader_replicas: list[int] | None = None,  # 2+, tag 1
        last_known_elr: list[int] | None = None,  # 2+, tag 2
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


def _read_partition_record_v0(data: bytes, pos: int, size: int) -> tuple[PartitionRecord, int]:
    at = "partition_id"
    try:
        partition_id, topic_id, count = _unpack_iUB(data, pos)
        pos += 21
        at = "replicas"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "isr"
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
        isr: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "removing_replicas"
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
        removing_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "adding_replicas"
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
        adding_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "leader"
        leader, leader_epoch, partition_epoch, tags = _unpack_iiiB(data, pos)
        pos += 13
        leader_recovery_state: int = 0
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
                    at = "leader_recovery_state"
                    leader_recovery_state, = _unpack_b(data, pos)
                    pos += 1
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("PartitionRecord", at, pos, error) from None
    return PartitionRecord(partition_id, topic_id, replicas, isr, removing_replicas, adding_replicas, leader, leader_recovery_state, leader_epoch, partition_epoch, EMPTY, None, None), pos


def _write_partition_record_v0(w: Append, x: PartitionRecord) -> None:
    if x.directories:
        raise unsupported_field("PartitionRecord", "directories", "0")
    if x.eligible_leader_replicas is not None:
        raise unsupported_field("PartitionRecord", "eligible_leader_replicas", "0")
    if x.last_known_elr is not None:
        raise unsupported_field("PartitionRecord", "last_known_elr", "0")
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("PartitionRecord", "topic_id", topic_id)
    replicas = x.replicas
    count = len(replicas) + 1
    w(_pack_iUB(x.partition_id, topic_id, count) if count < 128 else _pack_iU(x.partition_id, topic_id) + uvarint(count))
    w(PACK_INT32S[len(replicas)](*replicas) if len(replicas) < 8 else pack(f">{len(replicas)}i", *replicas))
    isr = x.isr
    count = len(isr) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(isr)](*isr) if len(isr) < 8 else pack(f">{len(isr)}i", *isr))
    removing_replicas = x.removing_replicas
    count = len(removing_replicas) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(removing_replicas)](*removing_replicas) if len(removing_replicas) < 8 else pack(f">{len(removing_replicas)}i", *removing_replicas))
    adding_replicas = x.adding_replicas
    count = len(adding_replicas) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(adding_replicas)](*adding_replicas) if len(adding_replicas) < 8 else pack(f">{len(adding_replicas)}i", *adding_replicas))
    w(_pack_iii(x.leader, x.leader_epoch, x.partition_epoch))
    tagged: list[tuple[int, bytes]] = []
    if x.leader_recovery_state != 0:
        leader_recovery_state_part: list[Buffer] = []
        leader_recovery_state_part.append(_pack_b(x.leader_recovery_state))
        tagged.append((0, b"".join(leader_recovery_state_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_partition_record_v1(data: bytes, pos: int, size: int) -> tuple[PartitionRecord, int]:
    at = "partition_id"
    try:
        partition_id, topic_id, count = _unpack_iUB(data, pos)
        pos += 21
        at = "replicas"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "isr"
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
        isr: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "removing_replicas"
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
        removing_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "adding_replicas"
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
        adding_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "leader"
        leader, leader_epoch, partition_epoch, count = _unpack_iiiB(data, pos)
        pos += 13
        at = "directories"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 16
        if end > size:
            raise overrun(count * 16, size - pos)
        directories: list[Uuid] = [bytes(data[start : start + 16]) for start in range(pos, end, 16)]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        leader_recovery_state: int = 0
        if tags:
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
                    at = "leader_recovery_state"
                    leader_recovery_state, = _unpack_b(data, pos)
                    pos += 1
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("PartitionRecord", at, pos, error) from None
    return PartitionRecord(partition_id, topic_id, replicas, isr, removing_replicas, adding_replicas, leader, leader_recovery_state, leader_epoch, partition_epoch, directories, None, None), pos


def _write_partition_record_v1(w: Append, x: PartitionRecord) -> None:
    if x.eligible_leader_replicas is not None:
        raise unsupported_field("PartitionRecord", "eligible_leader_replicas", "1")
    if x.last_known_elr is not None:
        raise unsupported_field("PartitionRecord", "last_known_elr", "1")
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("PartitionRecord", "topic_id", topic_id)
    replicas = x.replicas
    count = len(replicas) + 1
    w(_pack_iUB(x.partition_id, topic_id, count) if count < 128 else _pack_iU(x.partition_id, topic_id) + uvarint(count))
    w(PACK_INT32S[len(replicas)](*replicas) if len(replicas) < 8 else pack(f">{len(replicas)}i", *replicas))
    isr = x.isr
    count = len(isr) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(isr)](*isr) if len(isr) < 8 else pack(f">{len(isr)}i", *isr))
    removing_replicas = x.removing_replicas
    count = len(removing_replicas) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(removing_replicas)](*removing_replicas) if len(removing_replicas) < 8 else pack(f">{len(removing_replicas)}i", *removing_replicas))
    adding_replicas = x.adding_replicas
    count = len(adding_replicas) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(adding_replicas)](*adding_replicas) if len(adding_replicas) < 8 else pack(f">{len(adding_replicas)}i", *adding_replicas))
    directories = x.directories
    count = len(directories) + 1
    w(_pack_iiiB(x.leader, x.leader_epoch, x.partition_epoch, count) if count < 128 else _pack_iii(x.leader, x.leader_epoch, x.partition_epoch) + uvarint(count))
    for directories_item in directories:
        if len(directories_item) != 16:
            raise bad_uuid("PartitionRecord", "directories", directories_item)
        w(directories_item)
    tagged: list[tuple[int, bytes]] = []
    if x.leader_recovery_state != 0:
        leader_recovery_state_part: list[Buffer] = []
        leader_recovery_state_part.append(_pack_b(x.leader_recovery_state))
        tagged.append((0, b"".join(leader_recovery_state_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_partition_record_v2(data: bytes, pos: int, size: int) -> tuple[PartitionRecord, int]:
    at = "partition_id"
    try:
        partition_id, topic_id, count = _unpack_iUB(data, pos)
        pos += 21
        at = "replicas"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "isr"
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
        isr: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "removing_replicas"
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
        removing_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "adding_replicas"
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
        adding_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "leader"
        leader, leader_epoch, partition_epoch, count = _unpack_iiiB(data, pos)
        pos += 13
        at = "directories"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 16
        if end > size:
            raise overrun(count * 16, size - pos)
        directories: list[Uuid] = [bytes(data[start : start + 16]) for start in range(pos, end, 16)]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        leader_recovery_state: int = 0
        eligible_leader_replicas: list[int] | None = None
        last_known_elr: list[int] | None = None
        if tags:
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
                    at = "leader_recovery_state"
                    leader_recovery_state, = _unpack_b(data, pos)
                    pos += 1
                elif tag == 1:
                    at = "eligible_leader_replicas"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = uvarint_tail(data, pos, count)
                    eligible_leader_replicas = None
                    if count:
                        count -= 1
                        end = pos + count * 4
                        if end > size:
                            raise overrun(count * 4, size - pos)
                        eligible_leader_replicas = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
                        pos = end
                elif tag == 2:
                    at = "last_known_elr"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = uvarint_tail(data, pos, count)
                    last_known_elr = None
                    if count:
                        count -= 1
                        end = pos + count * 4
                        if end > size:
                            raise overrun(count * 4, size - pos)
                        last_known_elr = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
                        pos = end
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("PartitionRecord", at, pos, error) from None
    return PartitionRecord(partition_id, topic_id, replicas, isr, removing_replicas, adding_replicas, leader, leader_recovery_state, leader_epoch, partition_epoch, directories, eligible_leader_replicas, last_known_elr), pos


def _write_partition_record_v2(w: Append, x: PartitionRecord) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("PartitionRecord", "topic_id", topic_id)
    replicas = x.replicas
    count = len(replicas) + 1
    w(_pack_iUB(x.partition_id, topic_id, count) if count < 128 else _pack_iU(x.partition_id, topic_id) + uvarint(count))
    w(PACK_INT32S[len(replicas)](*replicas) if len(replicas) < 8 else pack(f">{len(replicas)}i", *replicas))
    isr = x.isr
    count = len(isr) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(isr)](*isr) if len(isr) < 8 else pack(f">{len(isr)}i", *isr))
    removing_replicas = x.removing_replicas
    count = len(removing_replicas) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(removing_replicas)](*removing_replicas) if len(removing_replicas) < 8 else pack(f">{len(removing_replicas)}i", *removing_replicas))
    adding_replicas = x.adding_replicas
    count = len(adding_replicas) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(adding_replicas)](*adding_replicas) if len(adding_replicas) < 8 else pack(f">{len(adding_replicas)}i", *adding_replicas))
    directories = x.directories
    count = len(directories) + 1
    w(_pack_iiiB(x.leader, x.leader_epoch, x.partition_epoch, count) if count < 128 else _pack_iii(x.leader, x.leader_epoch, x.partition_epoch) + uvarint(count))
    for directories_item in directories:
        if len(directories_item) != 16:
            raise bad_uuid("PartitionRecord", "directories", directories_item)
        w(directories_item)
    tagged: list[tuple[int, bytes]] = []
    if x.leader_recovery_state != 0:
        leader_recovery_state_part: list[Buffer] = []
        leader_recovery_state_part.append(_pack_b(x.leader_recovery_state))
        tagged.append((0, b"".join(leader_recovery_state_part)))
    if x.eligible_leader_replicas is not None:
        eligible_leader_replicas_part: list[Buffer] = []
        eligible_leader_replicas = x.eligible_leader_replicas
        count = len(eligible_leader_replicas) + 1
        eligible_leader_replicas_part.append(VARINT[count] if count < 128 else uvarint(count))
        eligible_leader_replicas_part.append(PACK_INT32S[len(eligible_leader_replicas)](*eligible_leader_replicas) if len(eligible_leader_replicas) < 8 else pack(f">{len(eligible_leader_replicas)}i", *eligible_leader_replicas))
        tagged.append((1, b"".join(eligible_leader_replicas_part)))
    if x.last_known_elr is not None:
        last_known_elr_part: list[Buffer] = []
        last_known_elr = x.last_known_elr
        count = len(last_known_elr) + 1
        last_known_elr_part.append(VARINT[count] if count < 128 else uvarint(count))
        last_known_elr_part.append(PACK_INT32S[len(last_known_elr)](*last_known_elr) if len(last_known_elr) < 8 else pack(f">{len(last_known_elr)}i", *last_known_elr))
        tagged.append((2, b"".join(last_known_elr_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")
PartitionRecord._READERS = {
    0: _read_partition_record_v0,
    1: _read_partition_record_v1,
    2: _read_partition_record_v2,
}
PartitionRecord._WRITERS = {
    0: _write_partition_record_v0,
    1: _write_partition_record_v1,
    2: _write_partition_record_v2,
}
