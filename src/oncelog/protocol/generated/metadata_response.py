# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_field, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_T = _Struct(">?").pack
_pack_TB = _Struct(">?B").pack
_pack_Ti = _Struct(">?i").pack
_pack_UT = _Struct(">16s?").pack
_pack_UTB = _Struct(">16s?B").pack
_pack_h = _Struct(">h").pack
_pack_hB = _Struct(">hB").pack
_pack_hh = _Struct(">hh").pack
_pack_hiii = _Struct(">hiii").pack
_pack_hiiiB = _Struct(">hiiiB").pack
_pack_hiiii = _Struct(">hiiii").pack
_pack_hx = _Struct(">hx").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ii = _Struct(">ii").pack
_pack_ix = _Struct(">ix").pack
_unpack_TB = _Struct(">?B").unpack_from
_unpack_Ti = _Struct(">?i").unpack_from
_unpack_UTB = _Struct(">16s?B").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_hiii = _Struct(">hiii").unpack_from
_unpack_hiiiB = _Struct(">hiiiB").unpack_from
_unpack_hiiii = _Struct(">hiiii").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class MetadataResponseBroker(Struct):
    __slots__ = ("node_id", "host", "port", "rack")

    def __init__(
        self,
        node_id: int = 0,  # 0+
        host: str = "",  # 0+
        port: int = 0,  # 0+
        rack: str | None = None,  # 1+, ignorable
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class MetadataResponsePartition(Struct):
    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        partition_index: int = 0,  # 0+
        leader_id: int = 0,  # 0+
        leader_epoch: int = -1,  # 7+, ignorable
        replica_nodes: list[int] = EMPTY,  # 0+
        isr_nodes: list[int] = EMPTY,  # 0+
        offline_replicas: list[int] = EMPTY,  # 5+, ignorable
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes = [] if isr_nodes is EMPTY else isr_nodes
        self.offline_replicas = [] if offline_replicas is EMPTY else offline_replicas


class MetadataResponseTopic(Struct):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        name: str | None = "",  # 0+
        topic_id: Uuid = ZERO_UUID,  # 10+, ignorable
        is_internal: bool = False,  # 1+, ignorable
        partitions: list[MetadataResponsePartition] = EMPTY,  # 0+
        topic_authorized_operations: int = -2147483648,  # 8+
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations = topic_authorized_operations


class MetadataResponse(Message):
    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    __slots__ = ("throttle_time_ms", "brokers", "cluster_id", "controller_id", "topics", "cluster_authorized_operations", "error_code")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 3+, ignorable
        brokers: list[MetadataResponseBroker] = EMPTY,  # 0+
        cluster_id: str | None = None,  # 2+, ignorable
        controller_id: int = -1,  # 1+, ignorable
        topics: list[MetadataResponseTopic] = EMPTY,  # 0+
        cluster_authorized_operations: int = -2147483648,  # 8-10
        error_code: int = 0,  # 13+, ignorable
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is EMPTY else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is EMPTY else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code


def _read_metadata_response_broker_v0(data: bytes, pos: int, size: int) -> tuple[MetadataResponseBroker, int]:
    at = "node_id"
    try:
        node_id, count = _unpack_ih(data, pos)
        pos += 6
        at = "host"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        host = data[pos:end].decode()
        pos = end
        at = "port"
        port, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseBroker", at, pos, error) from None
    return MetadataResponseBroker(node_id, host, port, None), pos


def _write_metadata_response_broker_v0(w: Append, x: MetadataResponseBroker) -> None:
    host = x.host
    host_bytes = host.encode()
    w(_pack_ih(x.node_id, len(host_bytes)))
    w(host_bytes)
    w(_pack_i(x.port))


def _read_metadata_response_partition_v0(data: bytes, pos: int, size: int) -> tuple[MetadataResponsePartition, int]:
    at = "error_code"
    try:
        error_code, partition_index, leader_id, count = _unpack_hiii(data, pos)
        pos += 14
        at = "replica_nodes"
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        replica_nodes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "isr_nodes"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        isr_nodes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponsePartition", at, pos, error) from None
    return MetadataResponsePartition(error_code, partition_index, leader_id, -1, replica_nodes, isr_nodes, EMPTY), pos


def _write_metadata_response_partition_v0(w: Append, x: MetadataResponsePartition) -> None:
    replica_nodes = x.replica_nodes
    w(_pack_hiii(x.error_code, x.partition_index, x.leader_id, len(replica_nodes)))
    w(PACK_INT32S[len(replica_nodes)](*replica_nodes) if len(replica_nodes) < 8 else pack(f">{len(replica_nodes)}i", *replica_nodes))
    isr_nodes = x.isr_nodes
    w(_pack_i(len(isr_nodes)))
    w(PACK_INT32S[len(isr_nodes)](*isr_nodes) if len(isr_nodes) < 8 else pack(f">{len(isr_nodes)}i", *isr_nodes))


def _read_metadata_response_broker_v1(data: bytes, pos: int, size: int) -> tuple[MetadataResponseBroker, int]:
    at = "node_id"
    try:
        node_id, count = _unpack_ih(data, pos)
        pos += 6
        at = "host"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        host = data[pos:end].decode()
        pos = end
        at = "port"
        port, count = _unpack_ih(data, pos)
        pos += 6
        at = "rack"
        rack: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            rack = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseBroker", at, pos, error) from None
    return MetadataResponseBroker(node_id, host, port, rack), pos


def _write_metadata_response_broker_v1(w: Append, x: MetadataResponseBroker) -> None:
    host = x.host
    host_bytes = host.encode()
    w(_pack_ih(x.node_id, len(host_bytes)))
    w(host_bytes)
    rack = x.rack
    rack_bytes = b"" if rack is None else rack.encode()
    w(_pack_ih(x.port, -1 if rack is None else len(rack_bytes)))
    w(rack_bytes)


def _read_metadata_response_partition_v5(data: bytes, pos: int, size: int) -> tuple[MetadataResponsePartition, int]:
    at = "error_code"
    try:
        error_code, partition_index, leader_id, count = _unpack_hiii(data, pos)
        pos += 14
        at = "replica_nodes"
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        replica_nodes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "isr_nodes"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        isr_nodes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "offline_replicas"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        offline_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponsePartition", at, pos, error) from None
    return MetadataResponsePartition(error_code, partition_index, leader_id, -1, replica_nodes, isr_nodes, offline_replicas), pos


def _write_metadata_response_partition_v5(w: Append, x: MetadataResponsePartition) -> None:
    replica_nodes = x.replica_nodes
    w(_pack_hiii(x.error_code, x.partition_index, x.leader_id, len(replica_nodes)))
    w(PACK_INT32S[len(replica_nodes)](*replica_nodes) if len(replica_nodes) < 8 else pack(f">{len(replica_nodes)}i", *replica_nodes))
    isr_nodes = x.isr_nodes
    w(_pack_i(len(isr_nodes)))
    w(PACK_INT32S[len(isr_nodes)](*isr_nodes) if len(isr_nodes) < 8 else pack(f">{len(isr_nodes)}i", *isr_nodes))
    offline_replicas = x.offline_replicas
    w(_pack_i(len(offline_replicas)))
    w(PACK_INT32S[len(offline_replicas)](*offline_replicas) if len(offline_replicas) < 8 else pack(f">{len(offline_replicas)}i", *offline_replicas))


def _read_metadata_response_partition_v7(data: bytes, pos: int, size: int) -> tuple[MetadataResponsePartition, int]:
    at = "error_code"
    try:
        error_code, partition_index, leader_id, leader_epoch, count = _unpack_hiiii(data, pos)
        pos += 18
        at = "replica_nodes"
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        replica_nodes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "isr_nodes"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        isr_nodes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "offline_replicas"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        offline_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponsePartition", at, pos, error) from None
    return MetadataResponsePartition(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas), pos


def _write_metadata_response_partition_v7(w: Append, x: MetadataResponsePartition) -> None:
    replica_nodes = x.replica_nodes
    w(_pack_hiiii(x.error_code, x.partition_index, x.leader_id, x.leader_epoch, len(replica_nodes)))
    w(PACK_INT32S[len(replica_nodes)](*replica_nodes) if len(replica_nodes) < 8 else pack(f">{len(replica_nodes)}i", *replica_nodes))
    isr_nodes = x.isr_nodes
    w(_pack_i(len(isr_nodes)))
    w(PACK_INT32S[len(isr_nodes)](*isr_nodes) if len(isr_nodes) < 8 else pack(f">{len(isr_nodes)}i", *isr_nodes))
    offline_replicas = x.offline_replicas
    w(_pack_i(len(offline_replicas)))
    w(PACK_INT32S[len(offline_replicas)](*offline_replicas) if len(offline_replicas) < 8 else pack(f">{len(offline_replicas)}i", *offline_replicas))


def _read_metadata_response_broker_v9(data: bytes, pos: int, size: int) -> tuple[MetadataResponseBroker, int]:
    at = "node_id"
    try:
        node_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "host"
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
        port, count = _unpack_iB(data, pos)
        pos += 5
        at = "rack"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        rack: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            rack = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseBroker", at, pos, error) from None
    return MetadataResponseBroker(node_id, host, port, rack), pos


def _write_metadata_response_broker_v9(w: Append, x: MetadataResponseBroker) -> None:
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(_pack_iB(x.node_id, count) if count < 128 else _pack_i(x.node_id) + string_length(count))
    w(host_bytes)
    rack = x.rack
    w(_pack_i(x.port))
    if rack is None:
        w(b"\0")
    else:
        rack_bytes = rack.encode()
        count = len(rack_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(rack_bytes)
    w(b"\0")


def _read_metadata_response_partition_v9(data: bytes, pos: int, size: int) -> tuple[MetadataResponsePartition, int]:
    at = "error_code"
    try:
        error_code, partition_index, leader_id, leader_epoch, count = _unpack_hiiiB(data, pos)
        pos += 15
        at = "replica_nodes"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        replica_nodes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "isr_nodes"
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
        isr_nodes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "offline_replicas"
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
        offline_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponsePartition", at, pos, error) from None
    return MetadataResponsePartition(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas), pos


def _write_metadata_response_partition_v9(w: Append, x: MetadataResponsePartition) -> None:
    replica_nodes = x.replica_nodes
    count = len(replica_nodes) + 1
    w(_pack_hiiiB(x.error_code, x.partition_index, x.leader_id, x.leader_epoch, count) if count < 128 else _pack_hiii(x.error_code, x.partition_index, x.leader_id, x.leader_epoch) + uvarint(count))
    w(PACK_INT32S[len(replica_nodes)](*replica_nodes) if len(replica_nodes) < 8 else pack(f">{len(replica_nodes)}i", *replica_nodes))
    isr_nodes = x.isr_nodes
    count = len(isr_nodes) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(isr_nodes)](*isr_nodes) if len(isr_nodes) < 8 else pack(f">{len(isr_nodes)}i", *isr_nodes))
    offline_replicas = x.offline_replicas
    count = len(offline_replicas) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(offline_replicas)](*offline_replicas) if len(offline_replicas) < 8 else pack(f">{len(offline_replicas)}i", *offline_replicas))
    w(b"\0")


def _read_metadata_response_topic_v0(data: bytes, pos: int, size: int) -> tuple[MetadataResponseTopic, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "name"
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
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[MetadataResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_metadata_response_partition_v0(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseTopic", at, pos, error) from None
    return MetadataResponseTopic(error_code, name, ZERO_UUID, False, partitions, -2147483648), pos


def _write_metadata_response_topic_v0(w: Append, x: MetadataResponseTopic) -> None:
    if x.topic_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.MetadataResponseTopic", "topic_authorized_operations", "0")
    name = x.name
    if name is None:
        raise null_field("MetadataResponse.MetadataResponseTopic", "name", "0")
    name_bytes = name.encode()
    w(_pack_hh(x.error_code, len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_metadata_response_partition_v0(w, partitions_item)


def _read_metadata_response_topic_v1(data: bytes, pos: int, size: int) -> tuple[MetadataResponseTopic, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "name"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "is_internal"
        is_internal, count = _unpack_Ti(data, pos)
        pos += 5
        at = "partitions"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[MetadataResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_metadata_response_partition_v0(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseTopic", at, pos, error) from None
    return MetadataResponseTopic(error_code, name, ZERO_UUID, is_internal, partitions, -2147483648), pos


def _write_metadata_response_topic_v1(w: Append, x: MetadataResponseTopic) -> None:
    if x.topic_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.MetadataResponseTopic", "topic_authorized_operations", "1-4")
    name = x.name
    if name is None:
        raise null_field("MetadataResponse.MetadataResponseTopic", "name", "1-4")
    name_bytes = name.encode()
    w(_pack_hh(x.error_code, len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_Ti(x.is_internal, len(partitions)))
    for partitions_item in partitions:
        _write_metadata_response_partition_v0(w, partitions_item)


def _read_metadata_response_topic_v5(data: bytes, pos: int, size: int) -> tuple[MetadataResponseTopic, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "name"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "is_internal"
        is_internal, count = _unpack_Ti(data, pos)
        pos += 5
        at = "partitions"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[MetadataResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_metadata_response_partition_v5(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseTopic", at, pos, error) from None
    return MetadataResponseTopic(error_code, name, ZERO_UUID, is_internal, partitions, -2147483648), pos


def _write_metadata_response_topic_v5(w: Append, x: MetadataResponseTopic) -> None:
    if x.topic_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.MetadataResponseTopic", "topic_authorized_operations", "5-6")
    name = x.name
    if name is None:
        raise null_field("MetadataResponse.MetadataResponseTopic", "name", "5-6")
    name_bytes = name.encode()
    w(_pack_hh(x.error_code, len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_Ti(x.is_internal, len(partitions)))
    for partitions_item in partitions:
        _write_metadata_response_partition_v5(w, partitions_item)


def _read_metadata_response_topic_v7(data: bytes, pos: int, size: int) -> tuple[MetadataResponseTopic, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "name"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "is_internal"
        is_internal, count = _unpack_Ti(data, pos)
        pos += 5
        at = "partitions"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[MetadataResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_metadata_response_partition_v7(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseTopic", at, pos, error) from None
    return MetadataResponseTopic(error_code, name, ZERO_UUID, is_internal, partitions, -2147483648), pos


def _write_metadata_response_topic_v7(w: Append, x: MetadataResponseTopic) -> None:
    if x.topic_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.MetadataResponseTopic", "topic_authorized_operations", "7")
    name = x.name
    if name is None:
        raise null_field("MetadataResponse.MetadataResponseTopic", "name", "7")
    name_bytes = name.encode()
    w(_pack_hh(x.error_code, len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_Ti(x.is_internal, len(partitions)))
    for partitions_item in partitions:
        _write_metadata_response_partition_v7(w, partitions_item)


def _read_metadata_response_topic_v8(data: bytes, pos: int, size: int) -> tuple[MetadataResponseTopic, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "name"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "is_internal"
        is_internal, count = _unpack_Ti(data, pos)
        pos += 5
        at = "partitions"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[MetadataResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_metadata_response_partition_v7(data, pos, size)
            partitions.append(partitions_item)
        at = "topic_authorized_operations"
        topic_authorized_operations, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseTopic", at, pos, error) from None
    return MetadataResponseTopic(error_code, name, ZERO_UUID, is_internal, partitions, topic_authorized_operations), pos


def _write_metadata_response_topic_v8(w: Append, x: MetadataResponseTopic) -> None:
    name = x.name
    if name is None:
        raise null_field("MetadataResponse.MetadataResponseTopic", "name", "8")
    name_bytes = name.encode()
    w(_pack_hh(x.error_code, len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_Ti(x.is_internal, len(partitions)))
    for partitions_item in partitions:
        _write_metadata_response_partition_v7(w, partitions_item)
    w(_pack_i(x.topic_authorized_operations))


def _read_metadata_response_topic_v9(data: bytes, pos: int, size: int) -> tuple[MetadataResponseTopic, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "name"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "is_internal"
        is_internal, count = _unpack_TB(data, pos)
        pos += 2
        at = "partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[MetadataResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_metadata_response_partition_v9(data, pos, size)
            partitions.append(partitions_item)
        at = "topic_authorized_operations"
        topic_authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseTopic", at, pos, error) from None
    return MetadataResponseTopic(error_code, name, ZERO_UUID, is_internal, partitions, topic_authorized_operations), pos


def _write_metadata_response_topic_v9(w: Append, x: MetadataResponseTopic) -> None:
    name = x.name
    if name is None:
        raise null_field("MetadataResponse.MetadataResponseTopic", "name", "9")
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_TB(x.is_internal, count) if count < 128 else _pack_T(x.is_internal) + uvarint(count))
    for partitions_item in partitions:
        _write_metadata_response_partition_v9(w, partitions_item)
    w(_pack_ix(x.topic_authorized_operations))


def _read_metadata_response_topic_v10(data: bytes, pos: int, size: int) -> tuple[MetadataResponseTopic, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "name"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "topic_id"
        topic_id, is_internal, count = _unpack_UTB(data, pos)
        pos += 18
        at = "partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[MetadataResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_metadata_response_partition_v9(data, pos, size)
            partitions.append(partitions_item)
        at = "topic_authorized_operations"
        topic_authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseTopic", at, pos, error) from None
    return MetadataResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations), pos


def _write_metadata_response_topic_v10(w: Append, x: MetadataResponseTopic) -> None:
    name = x.name
    if name is None:
        raise null_field("MetadataResponse.MetadataResponseTopic", "name", "10-11")
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + string_length(count))
    w(name_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("MetadataResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UTB(topic_id, x.is_internal, count) if count < 128 else _pack_UT(topic_id, x.is_internal) + uvarint(count))
    for partitions_item in partitions:
        _write_metadata_response_partition_v9(w, partitions_item)
    w(_pack_ix(x.topic_authorized_operations))


def _read_metadata_response_topic_v12(data: bytes, pos: int, size: int) -> tuple[MetadataResponseTopic, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "name"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        name: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            name = data[pos:end].decode()
            pos = end
        at = "topic_id"
        topic_id, is_internal, count = _unpack_UTB(data, pos)
        pos += 18
        at = "partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[MetadataResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_metadata_response_partition_v9(data, pos, size)
            partitions.append(partitions_item)
        at = "topic_authorized_operations"
        topic_authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse.MetadataResponseTopic", at, pos, error) from None
    return MetadataResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations), pos


def _write_metadata_response_topic_v12(w: Append, x: MetadataResponseTopic) -> None:
    name = x.name
    w(_pack_h(x.error_code))
    if name is None:
        w(b"\0")
    else:
        name_bytes = name.encode()
        count = len(name_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(name_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("MetadataResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UTB(topic_id, x.is_internal, count) if count < 128 else _pack_UT(topic_id, x.is_internal) + uvarint(count))
    for partitions_item in partitions:
        _write_metadata_response_partition_v9(w, partitions_item)
    w(_pack_ix(x.topic_authorized_operations))


def _read_metadata_response_v0(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "brokers"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v0(data, pos, size)
            brokers.append(brokers_item)
        at = "topics"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v0(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(0, brokers, None, -1, topics, -2147483648, 0), pos


def _write_metadata_response_v0(w: Append, x: MetadataResponse) -> None:
    if x.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse", "cluster_authorized_operations", "0")
    brokers = x.brokers
    w(_pack_i(len(brokers)))
    for brokers_item in brokers:
        _write_metadata_response_broker_v0(w, brokers_item)
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_metadata_response_topic_v0(w, topics_item)


def _read_metadata_response_v1(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "brokers"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v1(data, pos, size)
            brokers.append(brokers_item)
        at = "controller_id"
        controller_id, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v1(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(0, brokers, None, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_v1(w: Append, x: MetadataResponse) -> None:
    if x.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse", "cluster_authorized_operations", "1")
    brokers = x.brokers
    w(_pack_i(len(brokers)))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(w, brokers_item)
    topics = x.topics
    w(_pack_ii(x.controller_id, len(topics)))
    for topics_item in topics:
        _write_metadata_response_topic_v1(w, topics_item)


def _read_metadata_response_v2(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "brokers"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v1(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_id"
        count, = _unpack_h(data, pos)
        pos += 2
        cluster_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "controller_id"
        controller_id, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v1(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(0, brokers, cluster_id, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_v2(w: Append, x: MetadataResponse) -> None:
    if x.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse", "cluster_authorized_operations", "2")
    brokers = x.brokers
    w(_pack_i(len(brokers)))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(w, brokers_item)
    cluster_id = x.cluster_id
    cluster_id_bytes = b"" if cluster_id is None else cluster_id.encode()
    w(_pack_h(-1 if cluster_id is None else len(cluster_id_bytes)))
    w(cluster_id_bytes)
    topics = x.topics
    w(_pack_ii(x.controller_id, len(topics)))
    for topics_item in topics:
        _write_metadata_response_topic_v1(w, topics_item)


def _read_metadata_response_v3(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "brokers"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v1(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_id"
        count, = _unpack_h(data, pos)
        pos += 2
        cluster_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "controller_id"
        controller_id, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v1(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_v3(w: Append, x: MetadataResponse) -> None:
    if x.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse", "cluster_authorized_operations", "3-4")
    brokers = x.brokers
    w(_pack_ii(x.throttle_time_ms, len(brokers)))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(w, brokers_item)
    cluster_id = x.cluster_id
    cluster_id_bytes = b"" if cluster_id is None else cluster_id.encode()
    w(_pack_h(-1 if cluster_id is None else len(cluster_id_bytes)))
    w(cluster_id_bytes)
    topics = x.topics
    w(_pack_ii(x.controller_id, len(topics)))
    for topics_item in topics:
        _write_metadata_response_topic_v1(w, topics_item)


def _read_metadata_response_v5(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "brokers"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v1(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_id"
        count, = _unpack_h(data, pos)
        pos += 2
        cluster_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "controller_id"
        controller_id, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v5(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_v5(w: Append, x: MetadataResponse) -> None:
    if x.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse", "cluster_authorized_operations", "5-6")
    brokers = x.brokers
    w(_pack_ii(x.throttle_time_ms, len(brokers)))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(w, brokers_item)
    cluster_id = x.cluster_id
    cluster_id_bytes = b"" if cluster_id is None else cluster_id.encode()
    w(_pack_h(-1 if cluster_id is None else len(cluster_id_bytes)))
    w(cluster_id_bytes)
    topics = x.topics
    w(_pack_ii(x.controller_id, len(topics)))
    for topics_item in topics:
        _write_metadata_response_topic_v5(w, topics_item)


def _read_metadata_response_v7(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "brokers"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v1(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_id"
        count, = _unpack_h(data, pos)
        pos += 2
        cluster_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "controller_id"
        controller_id, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v7(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_v7(w: Append, x: MetadataResponse) -> None:
    if x.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse", "cluster_authorized_operations", "7")
    brokers = x.brokers
    w(_pack_ii(x.throttle_time_ms, len(brokers)))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(w, brokers_item)
    cluster_id = x.cluster_id
    cluster_id_bytes = b"" if cluster_id is None else cluster_id.encode()
    w(_pack_h(-1 if cluster_id is None else len(cluster_id_bytes)))
    w(cluster_id_bytes)
    topics = x.topics
    w(_pack_ii(x.controller_id, len(topics)))
    for topics_item in topics:
        _write_metadata_response_topic_v7(w, topics_item)


def _read_metadata_response_v8(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "brokers"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v1(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_id"
        count, = _unpack_h(data, pos)
        pos += 2
        cluster_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "controller_id"
        controller_id, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v8(data, pos, size)
            topics.append(topics_item)
        at = "cluster_authorized_operations"
        cluster_authorized_operations, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0), pos


def _write_metadata_response_v8(w: Append, x: MetadataResponse) -> None:
    brokers = x.brokers
    w(_pack_ii(x.throttle_time_ms, len(brokers)))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(w, brokers_item)
    cluster_id = x.cluster_id
    cluster_id_bytes = b"" if cluster_id is None else cluster_id.encode()
    w(_pack_h(-1 if cluster_id is None else len(cluster_id_bytes)))
    w(cluster_id_bytes)
    topics = x.topics
    w(_pack_ii(x.controller_id, len(topics)))
    for topics_item in topics:
        _write_metadata_response_topic_v8(w, topics_item)
    w(_pack_i(x.cluster_authorized_operations))


def _read_metadata_response_v9(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "brokers"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v9(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        cluster_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "controller_id"
        controller_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v9(data, pos, size)
            topics.append(topics_item)
        at = "cluster_authorized_operations"
        cluster_authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0), pos


def _write_metadata_response_v9(w: Append, x: MetadataResponse) -> None:
    brokers = x.brokers
    count = len(brokers) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for brokers_item in brokers:
        _write_metadata_response_broker_v9(w, brokers_item)
    cluster_id = x.cluster_id
    if cluster_id is None:
        w(b"\0")
    else:
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(cluster_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.controller_id, count) if count < 128 else _pack_i(x.controller_id) + uvarint(count))
    for topics_item in topics:
        _write_metadata_response_topic_v9(w, topics_item)
    w(_pack_ix(x.cluster_authorized_operations))


def _read_metadata_response_v10(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "brokers"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v9(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        cluster_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "controller_id"
        controller_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v10(data, pos, size)
            topics.append(topics_item)
        at = "cluster_authorized_operations"
        cluster_authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0), pos


def _write_metadata_response_v10(w: Append, x: MetadataResponse) -> None:
    brokers = x.brokers
    count = len(brokers) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for brokers_item in brokers:
        _write_metadata_response_broker_v9(w, brokers_item)
    cluster_id = x.cluster_id
    if cluster_id is None:
        w(b"\0")
    else:
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(cluster_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.controller_id, count) if count < 128 else _pack_i(x.controller_id) + uvarint(count))
    for topics_item in topics:
        _write_metadata_response_topic_v10(w, topics_item)
    w(_pack_ix(x.cluster_authorized_operations))


def _read_metadata_response_v11(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "brokers"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v9(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        cluster_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "controller_id"
        controller_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v10(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_v11(w: Append, x: MetadataResponse) -> None:
    if x.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse", "cluster_authorized_operations", "11")
    brokers = x.brokers
    count = len(brokers) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for brokers_item in brokers:
        _write_metadata_response_broker_v9(w, brokers_item)
    cluster_id = x.cluster_id
    if cluster_id is None:
        w(b"\0")
    else:
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(cluster_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.controller_id, count) if count < 128 else _pack_i(x.controller_id) + uvarint(count))
    for topics_item in topics:
        _write_metadata_response_topic_v10(w, topics_item)
    w(b"\0")


def _read_metadata_response_v12(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "brokers"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v9(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        cluster_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "controller_id"
        controller_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v12(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0), pos


def _write_metadata_response_v12(w: Append, x: MetadataResponse) -> None:
    if x.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse", "cluster_authorized_operations", "12")
    brokers = x.brokers
    count = len(brokers) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for brokers_item in brokers:
        _write_metadata_response_broker_v9(w, brokers_item)
    cluster_id = x.cluster_id
    if cluster_id is None:
        w(b"\0")
    else:
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(cluster_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.controller_id, count) if count < 128 else _pack_i(x.controller_id) + uvarint(count))
    for topics_item in topics:
        _write_metadata_response_topic_v12(w, topics_item)
    w(b"\0")


def _read_metadata_response_v13(data: bytes, pos: int, size: int) -> tuple[MetadataResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "brokers"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, pos = _read_metadata_response_broker_v9(data, pos, size)
            brokers.append(brokers_item)
        at = "cluster_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        cluster_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            cluster_id = data[pos:end].decode()
            pos = end
        at = "controller_id"
        controller_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_metadata_response_topic_v12(data, pos, size)
            topics.append(topics_item)
        at = "error_code"
        error_code, tags = _unpack_hB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("MetadataResponse", at, pos, error) from None
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, error_code), pos


def _write_metadata_response_v13(w: Append, x: MetadataResponse) -> None:
    if x.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse", "cluster_authorized_operations", "13")
    brokers = x.brokers
    count = len(brokers) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for brokers_item in brokers:
        _write_metadata_response_broker_v9(w, brokers_item)
    cluster_id = x.cluster_id
    if cluster_id is None:
        w(b"\0")
    else:
        cluster_id_bytes = cluster_id.encode()
        count = len(cluster_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(cluster_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.controller_id, count) if count < 128 else _pack_i(x.controller_id) + uvarint(count))
    for topics_item in topics:
        _write_metadata_response_topic_v12(w, topics_item)
    w(_pack_hx(x.error_code))
MetadataResponse._READERS = {
    0: _read_metadata_response_v0,
    1: _read_metadata_response_v1,
    2: _read_metadata_response_v2,
    3: _read_metadata_response_v3,
    4: _read_metadata_response_v3,
    5: _read_metadata_response_v5,
    6: _read_metadata_response_v5,
    7: _read_metadata_response_v7,
    8: _read_metadata_response_v8,
    9: _read_metadata_response_v9,
    10: _read_metadata_response_v10,
    11: _read_metadata_response_v11,
    12: _read_metadata_response_v12,
    13: _read_metadata_response_v13,
}
MetadataResponse._WRITERS = {
    0: _write_metadata_response_v0,
    1: _write_metadata_response_v1,
    2: _write_metadata_response_v2,
    3: _write_metadata_response_v3,
    4: _write_metadata_response_v3,
    5: _write_metadata_response_v5,
    6: _write_metadata_response_v5,
    7: _write_metadata_response_v7,
    8: _write_metadata_response_v8,
    9: _write_metadata_response_v9,
    10: _write_metadata_response_v10,
    11: _write_metadata_response_v11,
    12: _write_metadata_response_v12,
    13: _write_metadata_response_v13,
}
