"""Plans a promotion by reading the source, without changing it.

Called by ``promotion`` and the command.

Invariants

- Nothing is written into the source: its metadata file and write-ahead log are copied under the lock that a broker
  would take, and the copy is opened.
- Only closed ``.log`` segments become hard links; after an unclean stop only those below the recovery point do, because
  a recovery may truncate the others in place. All other files are copied, because Kafka writes into them in place.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, NamedTuple

from oncelog.apps.promote.folders import check_partial, is_node_of, partial_of, promoted_of
from oncelog.apps.promote.kraft import METADATA_VERSIONS, NEWEST, OWN_PREFIX, Quorum, Snapshot, snapshot_of
from oncelog.apps.promote.listeners import NodeListeners, node_listeners
from oncelog.apps.promote.promote_errors import PromotionError
from oncelog.apps.promote.unfinished_transactions import UnfinishedTransaction, unfinished_transactions
from oncelog.broker.log.checkpoints import (
    CLEAN_SHUTDOWN,
    META_PROPERTIES,
    OFFSET_CHECKPOINTS,
    RECOVERY_POINT_CHECKPOINT,
    MetaProperties,
    read_clean_shutdown,
    read_meta_properties,
    read_offset_checkpoint,
    read_partition_metadata,
)
from oncelog.broker.log.file_names import parse_file_name, parse_partition_folder
from oncelog.broker.metadata.identity import new_topic_id
from oncelog.broker.metadata.store import FILE_NAME, MetadataStore, ResourceType
from oncelog.broker.server.disk.folder_lock import LOCK_FILE
from oncelog.broker.server.disk.os_disk import OsDisk
from oncelog.broker.server.listener_settings import Address
from oncelog.broker.server.opening import SystemRandom
from oncelog.errors import CorruptLogError
from oncelog.settings.config import LISTENER_PREFIX, BrokerConfig, parse_broker
from oncelog.settings.kafka_properties import broker_properties
from oncelog.types import TopicPartition, encode_uuid

Mode = Literal["link", "copy", "move"]
ONE_NODE: Final[Mapping[str, str]] = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
"""Settings for a single node; Kafka's defaults need three nodes."""

_SECURITY: Final = re.compile(
    r"listeners$|advertised\.listeners$|listener\.|ssl\.|sasl\.|security\.|authorizer\.|super\.users$|allow\.everyone\.|inter\.broker\.|principal\."
)

_LOCK_FIRST_BYTE: Final = 0x40000002
_LOCK_BYTES: Final = 510
"""The range of bytes that SQLite locks for readers; a running broker locks all of it."""


class Addresses(NamedTuple):
    """The addresses of the future node.

    :param listen: for clients: HOST:PORT, or as in ``listeners``; None takes the settings.
    :param internal: for the node itself and for later nodes, if clients have to log in or permissions are checked.
    """

    listen: str | None = None
    controller: Address = Address("127.0.0.1", 9093)
    internal: Address = Address("127.0.0.1", 9094)


class PlanItem(NamedTuple):
    """One file of the target, with its path relative to the data folder."""

    path: str
    linked: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class MetadataCopy:
    """A copy of the source's metadata, and what is needed to start a broker on it or to write a snapshot of it.

    :ivar plain: broker settings for security are left out of the snapshot.
    """

    path: Path
    quorum: Quorum
    config: BrokerConfig
    plain: bool
    now_ms: int
    metadata_version: int

    @contextmanager
    def opened(self) -> Iterator[MetadataStore]:
        store = MetadataStore(str(self.path), node_id=self.quorum.node_id, random=SystemRandom(), sync=False)
        try:
            yield store
        finally:
            store.close()

    def snapshot(self, store: MetadataStore) -> Snapshot:
        left_behind = _SECURITY.match if self.plain else lambda name: False
        return snapshot_of(store, self.quorum, self.now_ms, left_behind, self.metadata_version)


@dataclass(frozen=True, slots=True)
class PromotionPlan:
    """The plan of a promotion, determined without writing anything."""

    source: Path
    target: Path
    identity: MetaProperties
    topics: int
    partitions: int
    next_producer_id: int
    items: tuple[PlanItem, ...]
    left_behind: tuple[str, ...]
    """Files and folders of the source that a Kafka node does not need; they are not in the target."""
    dropped_settings: tuple[str, ...]
    """Settings that are left out: those that only oncelog knows, those that the node replaces, and with ``plain`` those
    for security."""
    clean: bool
    """Whether the source was closed cleanly. If not, its segments are recovered: by Kafka when it starts, as after its
    own crash, or by the promotion if transactions must be completed."""
    open_transactions: tuple[UnfinishedTransaction, ...]
    decided_transactions: tuple[UnfinishedTransaction, ...]
    """The decided transactions whose markers are missing in the source; the promotion writes the markers into the
    target."""
    metadata: MetadataCopy
    snapshot: Snapshot
    listeners: NodeListeners
    properties: Mapping[str, str]

    @property
    def secrets(self) -> frozenset[str]:
        """The names of the properties that contain passwords or keys."""
        known = broker_properties()
        return frozenset(
            name
            for name in self.properties
            if (found := known.get(LISTENER_PREFIX.sub("", name))) is not None and found.sensitive
        )

    @property
    def copied_bytes(self) -> int:
        return sum(item.size_bytes for item in self.items if not item.linked)

    @property
    def linked_bytes(self) -> int:
        return sum(item.size_bytes for item in self.items if item.linked)


@contextmanager
def planned(
    source: Path,
    target: Path,
    *,
    addresses: Addresses,
    settings: Mapping[str, str],
    mode: Mode,
    now_ms: int,
    plain: bool = False,
    metadata_version: int = METADATA_VERSIONS[NEWEST],
) -> Iterator[PromotionPlan]:
    """A context: the plan, while no broker can start on the source.

    :param settings: those given to ``oncelog serve`` by ``--config`` and ``--set``; the data folder does not contain
        them.
    :param plain: drop the settings that secure listeners.
    :param metadata_version: the one that the node starts with.
    :raises PromotionError: the source is not a data folder, or is in use, or the target exists.
    :raises ConfigError: Kafka would not start with one of the settings.
    """
    source, target = source.resolve(), target.resolve()
    if not source.is_dir():
        raise PromotionError(f"there is no data folder {source}")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        if is_node_of(target, source):
            raise PromotionError(
                f"the target {target} is already the promoted node of the data folder {source}: start Kafka on it "
                f"and remove the data folder, or remove the target to make it again"
            )
        raise PromotionError(f"the target {target} exists and is not an empty folder; name another one")
    if mode == "move" and promoted_of(source).exists():
        raise PromotionError(f"{promoted_of(source)}, the name under which {source} is removed, is taken: move it away")
    if target.is_relative_to(source):
        raise PromotionError(f"the target {target} lies inside the data folder {source}; name one outside of it")
    config = parse_broker({name: value for name, value in settings.items() if name not in ("listeners", "log.dirs")})
    secured = _security_settings(settings) if plain else ()
    taken = {name: value for name, value in settings.items() if name not in secured}
    with _locked_metadata(source) as metadata_copy:
        plan = _plan(source, target, metadata_copy, addresses, config, taken, mode, now_ms, plain, metadata_version)
        check_partial(partial_of(target), {item.path.partition("/")[0] for item in plan.items})
        yield replace(plan, dropped_settings=tuple(dict.fromkeys((*plan.dropped_settings, *secured))))


@contextmanager
def _locked_metadata(source: Path) -> Iterator[Path]:
    """A context: a copy of the source's metadata, while the lock that a running broker would hold is taken.

    The bytes are read through the descriptor that holds the lock: closing any other descriptor of this file would
    release the lock.
    """
    import fcntl

    path = source / FILE_NAME
    descriptor, lock = _opened(path), fcntl.LOCK_EX
    if descriptor is None:
        descriptor, lock = _opened_for_reading(path), fcntl.LOCK_SH
    try:
        try:
            fcntl.lockf(descriptor, lock | fcntl.LOCK_NB, _LOCK_BYTES, _LOCK_FIRST_BYTE)
        except OSError:
            raise PromotionError(f"{source} is in use by a broker; stop it first") from None
        with tempfile.TemporaryDirectory(prefix="oncelog-promote-") as scratch:
            copy = Path(scratch) / FILE_NAME
            copy.write_bytes(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
            log = path.with_name(f"{FILE_NAME}-wal")
            if log.exists():
                shutil.copy2(log, copy.with_name(log.name))
            yield copy
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int | None:
    """Open a file for an exclusive lock; returns None if this user may not write it, as on a read-only snapshot of a
    volume."""
    try:
        return os.open(path, os.O_RDWR)
    except FileNotFoundError as error:
        raise PromotionError(f"{path.parent} is not a data folder of oncelog: it has no {path.name}") from error
    except OSError:
        return None


def _opened_for_reading(path: Path) -> int:
    """Open a file for a shared lock, which also keeps brokers from starting."""
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        raise PromotionError(f"{path} cannot be read: {error.strerror}") from error


def _plan(
    source: Path,
    target: Path,
    metadata_copy: Path,
    addresses: Addresses,
    config: BrokerConfig,
    settings: Mapping[str, str],
    mode: Mode,
    now_ms: int,
    plain: bool,
    metadata_version: int,
) -> PromotionPlan:
    disk = OsDisk(str(source))
    identity = read_meta_properties(disk)
    if identity is None:
        raise PromotionError(
            f"{source} has no {META_PROPERTIES}: start oncelog serve on it once, stop it, and try again"
        )
    if not identity.directory_id:  # meta.properties of version 0 has no directory id
        identity = identity._replace(directory_id=encode_uuid(new_topic_id(SystemRandom())))
    controller = addresses.controller
    quorum = Quorum(identity.node_id, identity.directory_id, controller.host, controller.port)
    config = replace(config, node_id=identity.node_id)
    metadata = MetadataCopy(metadata_copy, quorum, config, plain, now_ms, metadata_version)
    with metadata.opened() as store:
        live = {} if plain else _live_settings(store)
        secured = _security_settings(_live_settings(store)) if plain else ()
        snapshot = metadata.snapshot(store)
        topics = {topic.name: topic for topic in store.topics()}
        dropped = _own_settings(store, settings)
        next_producer_id = store.producer_ids.end
    missing = [
        f"{topic.name}-{partition}"
        for topic in topics.values()
        for partition in range(topic.partitions)
        if read_partition_metadata(disk, f"{topic.name}-{partition}") != topic.topic_id
    ]
    if missing:
        raise PromotionError(
            f"{len(missing)} partitions have no folder of their topic's id ({', '.join(missing[:3])}): "
            f"start oncelog serve on {source} once, which makes them, stop it, and try again"
        )
    listeners = node_listeners(addresses.listen, controller, addresses.internal, settings, live, SystemRandom().token)
    unfinished = tuple(unfinished_transactions(disk))
    folders = sorted(f"{topic.name}-{partition}" for topic in topics.values() for partition in range(topic.partitions))
    items = tuple(_items(source, folders, mode))
    taken = {item.path.partition("/")[0] for item in items} | {META_PROPERTIES, LOCK_FILE}
    left = sorted(entry.name for entry in source.iterdir() if entry.name not in taken)
    return PromotionPlan(
        source=source,
        target=target,
        identity=identity,
        topics=len(topics),
        partitions=len(folders),
        next_producer_id=next_producer_id,
        items=items,
        left_behind=tuple(name for name in left if not name.startswith(FILE_NAME)),
        dropped_settings=(*dropped, *listeners.replaced, *secured),
        clean=read_clean_shutdown(disk),
        open_transactions=tuple(transaction for transaction in unfinished if not transaction.decided),
        decided_transactions=tuple(transaction for transaction in unfinished if transaction.decided),
        metadata=metadata,
        snapshot=snapshot,
        listeners=listeners,
        properties=_server_properties(target, identity.node_id, controller, listeners),
    )


def _live_settings(store: MetadataStore) -> dict[str, str]:
    """The broker settings that were changed at run time: those for all brokers and those for this broker."""
    return {
        name: value
        for resource in ("", str(store.node_id))
        for name, value in store.dynamic_config(ResourceType.BROKER, resource).items()
    }


def _security_settings(settings: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in settings if _SECURITY.match(name)))


def _own_settings(store: MetadataStore, settings: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in {**_live_settings(store), **settings} if name.startswith(OWN_PREFIX)))


def _items(source: Path, folders: Sequence[str], mode: Mode) -> Iterator[PlanItem]:
    for name in (*OFFSET_CHECKPOINTS, CLEAN_SHUTDOWN):
        if (source / name).is_file():
            yield PlanItem(name, False, (source / name).stat().st_size)
    disk = OsDisk(str(source))
    clean, recovery_points = read_clean_shutdown(disk), _recovery_points(disk)
    for folder in folders:
        files = sorted(path for path in (source / folder).iterdir() if path.is_file())
        partition = parse_partition_folder(folder)
        recovered_from = recovery_points.get(partition, 0) if partition is not None else 0
        bases = [(path, parsed[0]) for path in files if (parsed := parse_file_name(path.name)) and not parsed[2]]
        segments = [(path, base) for path, base in bases if path.suffix == ".log"]
        closed = {path for (path, _), (_, end) in pairwise(segments) if clean or end <= recovered_from}
        for path in files:
            if path.suffix != ".damaged":
                yield PlanItem(f"{folder}/{path.name}", mode != "copy" and path in closed, path.stat().st_size)


def _recovery_points(disk: OsDisk) -> Mapping[TopicPartition, int]:
    """The recovery point of each partition: everything below it was synced; a start after an unclean stop reads the
    rest and may truncate it."""
    try:
        return read_offset_checkpoint(disk, RECOVERY_POINT_CHECKPOINT)
    except CorruptLogError:
        return {}


def _server_properties(target: Path, node_id: int, controller: Address, listeners: NodeListeners) -> dict[str, str]:
    """The settings with which Kafka starts on the folder: the node and its addresses, the defaults for a single node,
    and the given settings."""
    made = {
        "process.roles": "broker,controller",
        "node.id": str(node_id),
        "controller.quorum.bootstrap.servers": str(controller),
        "log.dirs": str(target),
    }
    given = {
        name: value
        for name, value in listeners.properties.items()
        if not name.startswith(OWN_PREFIX) and name not in ("broker.id", "log.dir", "cluster.id")
    }
    return {**ONE_NODE, **given, **made}
