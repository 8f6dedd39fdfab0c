"""Writes the metadata of a data folder as a snapshot of Apache Kafka's metadata log, and reads it back.

Called by ``plan`` and ``promotion``, which make a KRaft node of a data folder. A snapshot consists of record batches:
the first holds control records (header, quorum), the last the footer, and between them are the metadata records, each
with its frame version, API key and record version. Source: KIP-630, KIP-631, KIP-853; Kafka's ``RecordsSnapshotWriter``
and ``MetadataRecordSerde``.

Invariants

- The snapshot's offset is above 0: Kafka regards a log with a snapshot at 0 as empty, ignores its records, and renames
  every partition folder to ``-stray``.
- Each partition has the leader -1 and the last leader epoch used; the controller elects a leader with a higher epoch
  once the broker has started. A snapshot that named a leader would make Kafka first remove it, and the coordinators
  with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final

from oncelog.broker.log.checkpoints import decode_uuid
from oncelog.broker.metadata.features import SHARE_VERSION, SUPPORTED
from oncelog.broker.metadata.metadata_errors import MetadataError
from oncelog.broker.metadata.store import MetadataStore, ResourceType
from oncelog.protocol.acls import Acl
from oncelog.protocol.generated.access_control_entry_record import AccessControlEntryRecord
from oncelog.protocol.generated.client_quota_record import ClientQuotaRecord, EntityData
from oncelog.protocol.generated.config_record import ConfigRecord
from oncelog.protocol.generated.feature_level_record import FeatureLevelRecord
from oncelog.protocol.generated.kraft_version_record import KRaftVersionRecord
from oncelog.protocol.generated.partition_record import PartitionRecord
from oncelog.protocol.generated.producer_ids_record import ProducerIdsRecord
from oncelog.protocol.generated.snapshot_footer_record import SnapshotFooterRecord
from oncelog.protocol.generated.snapshot_header_record import SnapshotHeaderRecord
from oncelog.protocol.generated.topic_record import TopicRecord
from oncelog.protocol.generated.user_scram_credential_record import UserScramCredentialRecord
from oncelog.protocol.generated.voters_record import Endpoint, KRaftVersionFeature, Voter, VotersRecord
from oncelog.protocol.struct_fields import read_uvarint, uvarint
from oncelog.protocol.wire import Message
from oncelog.records.batch import decode_records, encode_batch, iter_headers, verify_crc
from oncelog.records.control import ControlType
from oncelog.records.record import Record
from oncelog.records.record_errors import CorruptBatch

EPOCH: Final = 1
RECORDS_A_BATCH: Final = 500
METADATA_VERSIONS: Final[Mapping[str, int]] = {"4.0": 25, "4.1": 27, "4.2": 29, "4.3": 30, "4.4": 33}
"""The ``metadata.version`` of each release of Apache Kafka.

An older release does not start with a newer level; a newer release starts with an older one, and ``kafka-features
upgrade`` raises it. The separate feature of eligible leader replicas stays off: with it, a partition without a leader
would never get one.
"""
NEWEST: Final = "4.4"
SHARE_LEVELS: Final[Mapping[int, int]] = {METADATA_VERSIONS["4.2"]: 1, METADATA_VERSIONS["4.4"]: 2}
"""The highest level of ``share.version`` that each ``metadata.version``, and every later one, allows."""
FRAME_VERSION: Final = 1
OWN_PREFIX: Final = "oncelog."
"""The prefix of settings that only oncelog's broker knows."""

OF_THE_NODE: Final = ("listeners", "listener.security.protocol.map")
"""Settings that define where a broker listens: those of the promoted node are in its ``server.properties``."""

_VERSIONS: Final[Mapping[type[Message], int]] = {PartitionRecord: 1}
"""The version of each type of metadata record in the snapshot; 0 for a type that is not listed."""
_CONTROL_KEY: Final = Struct(">hh")
_DATA_RECORDS: Final[tuple[type[Message], ...]] = (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
_BY_KEY: Final = {record.API_KEY: record for record in _DATA_RECORDS}


@dataclass(frozen=True, slots=True)
class Quorum:
    """The quorum's voters: only this node, with the address of its controller listener."""

    node_id: int
    directory_id: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot file of ``__cluster_metadata-0``: its name, its bytes, and the metadata records in it."""

    name: str
    data: bytes
    records: tuple[Message, ...]


def snapshot_of(
    store: MetadataStore,
    quorum: Quorum,
    now_ms: int,
    left_behind: Callable[[str], object] = lambda name: False,
    metadata_version: int = METADATA_VERSIONS[NEWEST],
) -> Snapshot:
    """A snapshot of everything in the store for which Apache Kafka has a record.

    :param left_behind: whether to leave out a broker setting, given its name.
    :param metadata_version: one of the levels in :data:`METADATA_VERSIONS`.
    """
    records = tuple(metadata_records(store, quorum, metadata_version, left_behind))
    head = [
        (ControlType.SNAPSHOT_HEADER, SnapshotHeaderRecord(last_contained_log_timestamp=now_ms)),
        (ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1)),
        (ControlType.KRAFT_VOTERS, _voters(quorum)),
    ]
    data = bytearray(_control_batch(head, 0, now_ms))
    offset = len(head)
    for first in range(0, len(records), RECORDS_A_BATCH):
        group = records[first : first + RECORDS_A_BATCH]
        data += _batch([Record(offset + n, now_ms, None, _framed(record)) for n, record in enumerate(group)])
        offset += len(group)
    data += _control_batch([(ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord())], offset, now_ms)
    return Snapshot(f"{offset + 1:020d}-{EPOCH:010d}.checkpoint", bytes(data), records)


def metadata_records(
    store: MetadataStore, quorum: Quorum, metadata_version: int, left_behind: Callable[[str], object]
) -> Iterator[Message]:
    """The metadata records of a snapshot. The metadata version comes first, because it determines how later records are
    read."""
    yield FeatureLevelRecord("metadata.version", metadata_version)
    for feature in sorted(SUPPORTED):
        level = store.finalized_features.level(feature)
        if feature == SHARE_VERSION:
            level = min(
                level, max((high for first, high in SHARE_LEVELS.items() if first <= metadata_version), default=0)
            )
        if level:
            yield FeatureLevelRecord(feature, level)
    directory = decode_uuid(quorum.directory_id)
    for topic in store.topics():
        yield TopicRecord(topic.name, topic.topic_id)
        for partition in range(topic.partitions):
            yield PartitionRecord(
                partition_id=partition,
                topic_id=topic.topic_id,
                replicas=[quorum.node_id],
                isr=[quorum.node_id],
                leader=-1,
                leader_epoch=store.leader_epoch(topic.name, partition),
                partition_epoch=0,
                directories=[directory],
            )
        yield from _configs(ResourceType.TOPIC, topic.name, dict(topic.overrides))
    for kind in (ResourceType.BROKER, ResourceType.CLIENT_METRICS, ResourceType.GROUP):
        for resource in store.configured(kind):
            settings = dict(store.dynamic_config(kind, resource))
            if kind is ResourceType.BROKER:
                settings = {n: v for n, v in settings.items() if n not in OF_THE_NODE and not left_behind(n)}
            yield from _configs(kind, resource, settings)
    for entity, quotas in sorted(store.client_quotas().items(), key=repr):
        parts = [EntityData(entity_type, name) for entity_type, name in entity]
        for key, value in sorted(quotas.items()):
            yield ClientQuotaRecord(entity=parts, key=key, value=value, remove=False)
    for (user, mechanism), credential in sorted(store.scram_credentials().items()):
        yield UserScramCredentialRecord(
            name=user,
            mechanism=mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
    for acl in store.acls():
        yield _access(acl)
    yield ProducerIdsRecord(quorum.node_id, -1, store.producer_ids.end)


def _access(acl: Acl) -> AccessControlEntryRecord:
    """An ACL record, whose id is derived from the entry, so that the same entry always gets the same id."""
    identity = hashlib.sha256(repr(tuple(acl)).encode()).digest()[:16]
    return AccessControlEntryRecord(
        id=identity,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _configs(kind: ResourceType, resource: str, values: dict[str, str]) -> Iterator[ConfigRecord]:
    for name, value in sorted(values.items()):
        if not name.startswith(OWN_PREFIX):
            yield ConfigRecord(kind, resource, name, value)


def read_snapshot(data: bytes) -> tuple[Message, ...]:
    """The metadata records of a snapshot that :func:`snapshot_of` made.

    :raises MetadataError: the bytes are not a whole snapshot.
    """
    records: list[Message] = []
    kinds: list[int] = []
    try:
        end = 0
        for position, header in iter_headers(data):
            if not verify_crc(data, position):
                raise MetadataError(f"the snapshot's batch at byte {position} fails its CRC")
            end = position + header.size_bytes
            for record in decode_records(data, position, check_crc=False):
                if header.is_control:
                    kinds.append(_CONTROL_KEY.unpack_from(record.key or b"")[1])
                else:
                    records.append(_unframed(record.value or b""))
    except (CorruptBatch, IndexError, KeyError, ValueError) as error:
        raise MetadataError(f"the snapshot cannot be read back: {error!r}") from error
    if end != len(data) or kinds[:1] != [ControlType.SNAPSHOT_HEADER] or kinds[-1:] != [ControlType.SNAPSHOT_FOOTER]:
        raise MetadataError("the snapshot cannot be read back: it does not run from its header to its footer")
    return tuple(records)


def _voters(quorum: Quorum) -> VotersRecord:
    voter = Voter(
        voter_id=quorum.node_id,
        voter_directory_id=decode_uuid(quorum.directory_id),
        endpoints=[Endpoint("CONTROLLER", quorum.host, quorum.port)],
        kraft_version_feature=KRaftVersionFeature(0, 1),
    )
    return VotersRecord(voters=[voter])


def _control_batch(records: Sequence[tuple[ControlType, Message]], offset: int, now_ms: int) -> bytes:
    made = [
        Record(offset + n, now_ms, _CONTROL_KEY.pack(0, kind), message.encode(0))
        for n, (kind, message) in enumerate(records)
    ]
    return _batch(made, control=True)


def _batch(records: Sequence[Record], *, control: bool = False) -> bytes:
    return encode_batch(records, base_offset=records[0].offset, control=control, partition_leader_epoch=EPOCH)


def _framed(record: Message) -> bytes:
    version = _VERSIONS.get(type(record), 0)
    return uvarint(FRAME_VERSION) + uvarint(record.API_KEY) + uvarint(version) + record.encode(version)


def _unframed(value: bytes) -> Message:
    _, position = read_uvarint(value, 0)
    key, position = read_uvarint(value, position)
    version, position = read_uvarint(value, position)
    return _BY_KEY[key].decode(value, version, position)
