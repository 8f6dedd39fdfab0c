"""The broker's metadata, that is, everything except its logs, in one SQLite file in the data folder.

These are the cluster's identity, topics with their ids, partition counts and overrides, dynamic configuration, client
quotas, users' SCRAM credentials, access control lists, finalized features, and the producer ids allocated so far.
Called by the broker and its admin APIs, on their one thread.

Invariants
- A change is on stable storage before the method that makes it returns (WAL, ``synchronous=FULL``), and the state in
  memory changes after the file. Changes inside :meth:`MetadataStore.batch` become durable together when the batch ends.
  After :meth:`MetadataFile.leave_sync_to` a change is in the file when the method returns, where it survives a kill,
  and the caller syncs it.
- Producer ids are reserved in blocks that are durable before the first id of the block is allocated, so no id is
  allocated twice, even after kill -9 (Kafka's ``ProducerIdControlManager``).
- Each opening of the file is a new leadership of every partition: leader epochs, and with them coordinator epochs,
  increase with every start, as with a restart of a KRaft broker.
- The file is locked while it is open, so two brokers cannot share a data folder.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.metadata.features import HIGHEST, TRANSACTION_VERSION, FinalizedFeatures
from oncelog.broker.metadata.identity import new_topic_id
from oncelog.broker.metadata.metadata_errors import MetadataError
from oncelog.broker.metadata.metadata_file import MetadataFile
from oncelog.broker.metadata.producer_ids import ProducerIds
from oncelog.errors import ConfigError, Error, InvariantError, KafkaError, StorageError
from oncelog.protocol.acls import Acl
from oncelog.runtime import real_json as json
from oncelog.runtime.ports import Random
from oncelog.settings.config import TopicConfig, parse
from oncelog.types import INTERNAL_TOPICS, encode_uuid

if TYPE_CHECKING:
    from oncelog.broker.metadata.adoption import AdoptedTopic
    from oncelog.broker.metadata.first_users import FirstUser
    from oncelog.protocol.scram import ScramCredential

logger = logging.getLogger(__name__)

FILE_NAME = "metadata.sqlite"
DELETED_KEPT = 1000
"""The number of deleted topics that are recorded, the most recent ones."""


class ResourceType(IntEnum):
    """The type of a resource with a dynamic configuration (Kafka's ``ConfigResource.Type``)."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


QuotaEntity = tuple[tuple[str, str | None], ...]
"""A quota's entity: sorted pairs of entity type (``user``, ``client-id``, ``ip``) and name, where None is the default
entity."""


class TopicInfo(NamedTuple):
    """The current state of one topic; a change creates a new object.

    ``epoch_origins`` holds pairs (first partition, origin), sorted; a partition's leader epoch is its origin plus the
    number of this start. ``config`` are the broker's defaults with ``overrides``.
    """

    name: str
    topic_id: bytes
    partitions: int
    config: TopicConfig
    overrides: Mapping[str, str]
    internal: bool
    created_ms: int = 0
    epoch_origins: tuple[tuple[int, int], ...] = ((0, 0),)
    replicas: tuple[tuple[int, ...], ...] = ()
    """With several nodes: the ids of the nodes that have each partition, the preferred leader first."""


class MetadataStore:
    """All metadata, read from memory and written through to the file.

    :param path: the file, or ``:memory:``.
    :param random: for the identities of a new cluster and of topics.
    :param cluster_id: the expected cluster id, or else the file is refused; empty means the file's id, or a new one for
        a new file.
    :param topic_defaults: the broker's defaults for topic settings.
    :param sync: False means that changes may be lost in a power failure (not by kill -9), for short-lived brokers.
    :param nothing_to_adopt: called for a new file; returns whether the data folder has nothing to adopt, which the file
        then records.
    :param first_users: the credentials in a new file, which is not created without them.
    """

    def __init__(
        self,
        path: str,
        *,
        node_id: int,
        random: Random,
        cluster_id: str = "",
        topic_defaults: TopicConfig | None = None,
        sync: bool = True,
        nothing_to_adopt: Callable[[], bool] | None = None,
        first_users: Collection[FirstUser] = (),
    ) -> None:
        self.node_id = node_id
        self._random = random
        self._topic_defaults = topic_defaults if topic_defaults is not None else TopicConfig()
        self.file = MetadataFile(path, sync=sync, undone=self._load)
        """The file with the store's contents, for callers that sync it."""
        self.producer_ids = ProducerIds(self.file)
        self.adopted = False
        self._topics: dict[str, TopicInfo] = {}
        self._by_id: dict[bytes, str] = {}
        self._sorted: tuple[TopicInfo, ...] | None = None
        self._by_unified: dict[str, set[str]] = {}
        """Topic names with ``.`` or ``_``, by the name with all dots replaced by underscores."""
        self._configs: dict[tuple[ResourceType, str], dict[str, str]] = {}
        self._quotas: dict[QuotaEntity, dict[str, float]] = {}
        self._scram: dict[tuple[str, int], ScramCredential] = {}
        self._acls: dict[Acl, None] = {}
        self._deleted: dict[bytes, None] = {}
        with self.file.start() as is_new:
            if is_new:
                adopted = nothing_to_adopt is not None and nothing_to_adopt()
                self._begin_file(cluster_id or encode_uuid(new_topic_id(random)), adopted, first_users)
            self._load_meta()
            if cluster_id and cluster_id != self.cluster_id:
                raise MetadataError(
                    f"{path} belongs to cluster {self.cluster_id} and this broker is to join cluster {cluster_id}; "
                    f"name another data folder"
                )
            self._load_tables()
            self._starts = self._kept_starts + 1
            self._keep_starts(self._starts)

    def close(self) -> None:
        """Close the file; nothing is lost if this is not called."""
        self.file.close()

    # --- opening

    def _begin_file(self, cluster_id: str, adopted: bool, first_users: Collection[FirstUser]) -> None:
        rows = {"cluster_id": cluster_id, "node_id": str(self.node_id), "next_producer_id": "0", "starts": "-1"}
        rows |= {"adopted": "yes" if adopted else "no", "changes": "0"}
        rows |= {"features": json.dumps([HIGHEST.epoch, HIGHEST.levels])}
        self.file.execute_many("INSERT INTO meta VALUES (?, ?)", rows.items())
        self._write_scram_credentials((user, mechanism, *credential) for user, mechanism, credential in first_users)

    def _load(self) -> None:
        """Read everything from the file again, because changes were undone."""
        self._load_meta()
        self._load_tables()

    def _load_meta(self) -> None:
        path = self.file.path
        try:
            meta = self.file.meta()
            self.cluster_id = meta["cluster_id"]
            node_id, self._kept_starts = int(meta["node_id"]), int(meta["starts"])
            self.producer_ids.end = int(meta["next_producer_id"])
            self.adopted = meta["adopted"] == "yes"
            epoch, levels = json.loads(meta["features"])
        except (KeyError, ValueError) as error:
            raise MetadataError(f"the metadata file {path} is damaged: table meta lacks {error}") from error
        self._features = FinalizedFeatures(epoch, levels)
        self.transaction_version = self._features.level(TRANSACTION_VERSION)
        """The level of ``transaction.version`` in force, stored here because each record of a transaction needs it."""
        if node_id != self.node_id:
            raise MetadataError(
                f"{path} belongs to node {node_id} and this broker is node {self.node_id}; "
                f"set node.id={node_id} or name another data folder"
            )

    def _load_tables(self) -> None:
        select = self.file.select
        self._configs = {}
        for kind, resource, name, value in select("SELECT * FROM configs"):
            self._configs.setdefault((ResourceType(kind), resource), {})[name] = value
        self._topics, self._by_id, self._sorted, self._by_unified = {}, {}, None, {}
        replicas = {topic: tuple(map(tuple, json.loads(nodes))) for topic, nodes in select("SELECT * FROM replicas")}
        for name, topic_id, partitions, origins, created_ms in select("SELECT * FROM topics ORDER BY name"):
            overrides = self._configs.get((ResourceType.TOPIC, name), {})
            self._set_topic(
                TopicInfo(
                    name=name,
                    topic_id=topic_id,
                    partitions=partitions,
                    config=self._effective(overrides),
                    overrides=overrides,
                    internal=name in INTERNAL_TOPICS,
                    created_ms=created_ms,
                    epoch_origins=tuple((first, origin) for first, origin in json.loads(origins)),
                    replicas=replicas.get(name, ()),
                )
            )
        self._quotas = {}
        for entity, key, quota in select("SELECT * FROM client_quotas"):
            self._quotas.setdefault(_entity_of(entity), {})[key] = quota
        self._scram = {}
        for user, mechanism, *values in select("SELECT * FROM scram_credentials"):
            from oncelog.protocol.scram import ScramCredential

            self._scram[user, mechanism] = ScramCredential(*values)
        self._acls = {Acl(*row): None for row in select("SELECT * FROM acls")}
        self._deleted = {topic_id: None for (topic_id,) in select("SELECT topic_id FROM deleted_topics")}

    @property
    def starts(self) -> int:
        """The number of times that the file was opened before the current opening."""
        return self._starts

    @property
    def changes(self) -> int:
        """The number of changes ever made, including those of earlier starts; each start counts as one change."""
        return self.file.changes

    def batch(self) -> AbstractContextManager[None]:
        """Changes made in the ``with`` block become durable together at its end; an exception undoes all of them.

        :raises StorageError: the changes cannot be written, and were undone.
        """
        return self.file.batch()

    # --- topics

    def topic(self, name: str) -> TopicInfo | None:
        return self._topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicInfo | None:
        name = self._by_id.get(topic_id)
        return self._topics[name] if name is not None else None

    def topic_names(self) -> Set[str]:
        """The names of all topics; the set changes with the topics."""
        return self._topics.keys()

    def topics(self) -> Sequence[TopicInfo]:
        """All topics, sorted by name."""
        if self._sorted is None:
            self._sorted = tuple(self._topics[name] for name in sorted(self._topics))
        return self._sorted

    def colliding_topic(self, name: str) -> str | None:
        """Another topic whose name differs from this one only in ``.`` and ``_``, which Kafka's metrics do not
        distinguish."""
        return min(self._by_unified.get(name.replace(".", "_"), set()) - {name}, default=None)

    def leader_epoch(self, name: str, partition: int) -> int:
        """The leader epoch of a partition since this start: 0 for a partition created now, and greater with every
        start."""
        info = self._existing(name)
        if not 0 <= partition < info.partitions:
            raise InvariantError(f"{name} has {info.partitions} partitions; the leader epoch of {partition} was read")
        group = bisect_right(info.epoch_origins, (partition, 2**62)) - 1
        return info.epoch_origins[group][1] + self._starts

    def leads_with(self, name: str, partition: int, epoch: int) -> None:
        """Store ``epoch`` before a partition is led with it, so that epochs after the next start are greater.

        Coordinators put this epoch into their markers, and a partition refuses markers with an older one.
        """
        starts = epoch - (self.leader_epoch(name, partition) - self._starts)
        if starts > self._kept_starts:
            self._keep_starts(starts)

    def _keep_starts(self, starts: int) -> None:
        """Store the number of starts, or a greater number in place of it."""
        self.file.set_meta("starts", str(starts))
        self._kept_starts = starts

    def create_topic(
        self, name: str, partitions: int, overrides: Mapping[str, str], now_ms: int, *, topic_id: bytes | None = None
    ) -> TopicInfo:
        """Create a topic with a new id; the name must be free (``TOPIC_ALREADY_EXISTS``), and the overrides must be
        valid."""
        if name in self._topics:
            raise KafkaError(Error.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        info = TopicInfo(
            name=name,
            topic_id=topic_id if topic_id is not None else new_topic_id(self._random),
            partitions=partitions,
            config=self._effective(overrides),
            overrides=dict(overrides),
            internal=name in INTERNAL_TOPICS,
            created_ms=now_ms,
            epoch_origins=((0, -self._starts),),
        )
        self._insert(info)
        return info

    def adopt(self, topics: Sequence[AdoptedTopic], next_producer_id: int, now_ms: int) -> None:
        """Take over the topics and ids that another broker left in the data folder; this happens only once; ``adopted``
        says whether it has happened."""
        with self.file.batch():
            self.file.set_meta("adopted", "yes")
            self.producer_ids.reserve(next_producer_id)
            for topic in topics:
                try:
                    info = self.create_topic(
                        topic.name, topic.partitions, topic.overrides, now_ms, topic_id=topic.topic_id
                    )
                except ConfigError as error:
                    raise MetadataError(f"cannot take over the topic {topic.name}: {error}") from error
                origins = ((0, topic.first_leader_epoch - self._starts),)
                self.file.execute("UPDATE topics SET epoch_origins = ? WHERE name = ?", json.dumps(origins), topic.name)
                self._set_topic(info._replace(epoch_origins=origins))
        self.adopted = True

    def delete_topic(self, name: str) -> None:
        info = self._existing(name)
        forgotten = [*self._deleted][: max(0, len(self._deleted) + 1 - DELETED_KEPT)]
        with self.file.batch():
            self.file.execute("DELETE FROM topics WHERE name = ?", name)
            self.file.execute("DELETE FROM replicas WHERE topic = ?", name)
            self._write_configs(ResourceType.TOPIC, name, {})
            self._forget_deleted(forgotten)
            self.file.execute("INSERT OR IGNORE INTO deleted_topics VALUES (?)", info.topic_id)
            self._deleted[info.topic_id] = None
        del self._topics[name], self._by_id[info.topic_id]
        self._sorted = None
        unified = name.replace(".", "_")
        if unified in self._by_unified:
            self._by_unified[unified].discard(name)
            if not self._by_unified[unified]:
                del self._by_unified[unified]

    def was_deleted(self, topic_id: bytes) -> bool:
        """Whether a missing topic was deleted through the API; False if the deletion is no longer recorded."""
        return topic_id in self._deleted

    def forget_deleted(self, settle: Callable[[], None]) -> None:
        """Remove the records of deleted topics once ``settle`` has returned, which puts the removal of their folders on
        stable storage."""
        if not self._deleted:
            return
        try:
            settle()
            with self.file.batch():
                self._forget_deleted([*self._deleted])
        except StorageError as error:
            logger.warning("deleted topics stay recorded until the next start: %s", error)

    def _forget_deleted(self, topic_ids: Sequence[bytes]) -> None:
        for topic_id in topic_ids:
            self.file.execute("DELETE FROM deleted_topics WHERE topic_id = ?", topic_id)
            del self._deleted[topic_id]

    def add_partitions(self, name: str, partitions: int) -> TopicInfo:
        """Raise the partition count to ``partitions``; new partitions begin at leader epoch 0."""
        info = self._existing(name)
        if partitions <= info.partitions:
            raise InvariantError(f"{name} has {info.partitions} partitions and cannot be cut to {partitions}")
        origins = (*info.epoch_origins, (info.partitions, -self._starts))
        self.file.execute(
            "UPDATE topics SET partitions = ?, epoch_origins = ? WHERE name = ?", partitions, json.dumps(origins), name
        )
        return self._set_topic(info._replace(partitions=partitions, epoch_origins=origins))

    def set_replicas(self, name: str, replicas: Sequence[Sequence[int]]) -> TopicInfo:
        """Store the nodes that have each partition of a topic."""
        info = self._existing(name)
        self.file.execute(
            "INSERT OR REPLACE INTO replicas VALUES (?, ?)", name, json.dumps([list(r) for r in replicas])
        )
        return self._set_topic(info._replace(replicas=tuple(map(tuple, replicas))))

    def set_topic_config(self, name: str, overrides: Mapping[str, str]) -> TopicInfo:
        """Replace all overrides of a topic; they must be valid."""
        info = self._existing(name)
        config = self._effective(overrides)
        with self.file.batch():
            self._write_configs(ResourceType.TOPIC, name, overrides)
        return self._set_topic(info._replace(config=config, overrides=dict(overrides)))

    @property
    def topic_defaults(self) -> TopicConfig:
        return self._topic_defaults

    def set_topic_defaults(self, defaults: TopicConfig) -> None:
        """Change the broker's defaults for topic settings, which every topic's effective configuration uses from now
        on."""
        if defaults != self._topic_defaults:
            self._topic_defaults = defaults
            for info in list(self._topics.values()):
                self._set_topic(info._replace(config=self._effective(info.overrides)))

    def _effective(self, overrides: Mapping[str, str]) -> TopicConfig:
        return parse(TopicConfig, overrides, self._topic_defaults) if overrides else self._topic_defaults

    def _existing(self, name: str) -> TopicInfo:
        info = self._topics.get(name)
        if info is None:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        return info

    def _insert(self, info: TopicInfo) -> None:
        with self.file.batch():
            self.file.execute(
                "INSERT INTO topics VALUES (?, ?, ?, ?, ?)",
                info.name,
                info.topic_id,
                info.partitions,
                json.dumps(info.epoch_origins),
                info.created_ms,
            )
            self._write_configs(ResourceType.TOPIC, info.name, info.overrides)
            if info.topic_id in self._deleted:  # a topic that was deleted here is imported from another broker again
                self._forget_deleted([info.topic_id])
        self._set_topic(info)

    def _set_topic(self, info: TopicInfo) -> TopicInfo:
        self._topics[info.name] = info
        self._by_id[info.topic_id] = info.name
        self._sorted = None
        unified = info.name.replace(".", "_")
        if "_" in unified:
            self._by_unified.setdefault(unified, set()).add(info.name)
        return info

    # --- dynamic configuration

    def dynamic_config(self, kind: ResourceType, resource: str) -> Mapping[str, str]:
        """The settings stored for a broker (by its id, or "" for all brokers), a group or a client metrics
        subscription."""
        return self._configs.get((kind, resource), {})

    def configured(self, kind: ResourceType) -> Sequence[str]:
        """Names of the resources of one type that have a dynamic configuration, sorted."""
        return sorted(resource for known, resource in self._configs if known is kind)

    def set_dynamic_config(self, kind: ResourceType, resource: str, values: Mapping[str, str]) -> None:
        """Replace all settings of one resource; the values must be valid. For topics: :meth:`set_topic_config`."""
        if kind is ResourceType.TOPIC:
            raise InvariantError("topic overrides go through set_topic_config")
        with self.file.batch():
            self._write_configs(kind, resource, values)

    def _write_configs(self, kind: ResourceType, resource: str, values: Mapping[str, str]) -> None:
        self.file.execute("DELETE FROM configs WHERE resource_type = ? AND resource_name = ?", kind, resource)
        for name, value in values.items():
            self.file.execute("INSERT INTO configs VALUES (?, ?, ?, ?)", kind, resource, name, value)
        if values:
            self._configs[kind, resource] = dict(values)
        else:
            self._configs.pop((kind, resource), None)

    # --- client quotas

    def client_quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        return self._quotas

    def set_client_quota(self, entity: QuotaEntity, key: str, value: float | None) -> None:
        """Set one quota of an entity, or remove it if the value is None."""
        text = json.dumps(entity)
        if value is None:
            self.file.execute("DELETE FROM client_quotas WHERE entity = ? AND key = ?", text, key)
            values = self._quotas.get(entity, {})
            values.pop(key, None)
            if not values:
                self._quotas.pop(entity, None)
        else:
            self.file.execute("INSERT OR REPLACE INTO client_quotas VALUES (?, ?, ?)", text, key, value)
            self._quotas.setdefault(entity, {})[key] = value

    # --- SCRAM credentials

    def scram_credentials(self) -> Mapping[tuple[str, int], ScramCredential]:
        """SCRAM credentials by user and Kafka's number of the mechanism."""
        return self._scram

    def set_scram_credentials(self, changes: Mapping[tuple[str, int], ScramCredential | None]) -> None:
        """Set SCRAM credentials, or remove those whose value is None, all at once."""
        removed = [of for of, credential in changes.items() if credential is None]
        added = {of: credential for of, credential in changes.items() if credential is not None}
        with self.file.batch():
            self.file.execute_many("DELETE FROM scram_credentials WHERE user = ? AND mechanism = ?", removed)
            self._write_scram_credentials((*of, *credential) for of, credential in added.items())
            for of in removed:
                self._scram.pop(of, None)
            self._scram.update(added)

    def _write_scram_credentials(self, rows: Iterable[Sequence[object]]) -> None:
        self.file.execute_many("INSERT OR REPLACE INTO scram_credentials VALUES (?, ?, ?, ?, ?, ?)", rows)

    # --- access control lists

    def acls(self) -> Iterable[Acl]:
        """All ACLs, without duplicates."""
        return self._acls

    def change_acls(self, added: Collection[Acl] = (), removed: Collection[Acl] = ()) -> None:
        """Add and remove ACLs, all at once; adding an existing ACL, or removing a missing one, changes nothing."""
        with self.file.batch():
            self.file.execute_many(
                "DELETE FROM acls WHERE resource_type = ? AND resource_name = ? AND pattern_type = ? "
                "AND principal = ? AND host = ? AND operation = ? AND permission = ?",
                removed,
            )
            self.file.execute_many("INSERT OR IGNORE INTO acls VALUES (?, ?, ?, ?, ?, ?, ?)", added)
            for acl in removed:
                self._acls.pop(acl, None)
            self._acls.update(dict.fromkeys(added))

    # --- features

    @property
    def finalized_features(self) -> FinalizedFeatures:
        return self._features

    def finalize_features(self, levels: Mapping[str, int]) -> None:
        """Store these levels for all features; the epoch increases if a level has changed."""
        if levels != self._features.levels:
            finalized = FinalizedFeatures(self.changes + 1, dict(levels))
            text = json.dumps([finalized.epoch, finalized.levels])
            self.file.set_meta("features", text)
            self._features = finalized
            self.transaction_version = finalized.level(TRANSACTION_VERSION)


def _entity_of(text: str) -> QuotaEntity:
    return tuple((kind, name) for kind, name in json.loads(text))
