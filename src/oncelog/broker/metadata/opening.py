"""Opens the metadata of a data folder and determines the settings in force.

Called once by the server, before the broker core is created.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from oncelog.broker.log.checkpoints import read_meta_properties
from oncelog.broker.metadata.metadata_errors import MetadataError
from oncelog.broker.metadata.store import FILE_NAME, MetadataStore, ResourceType
from oncelog.errors import ConfigError, CorruptLogError
from oncelog.runtime.ports import Disk, Random
from oncelog.settings.config import BrokerConfig

if TYPE_CHECKING:
    from oncelog.broker.metadata.first_users import FirstUser

logger = logging.getLogger(__name__)

_SQLITE = b"SQLite format 3\0"
_PAGE_BYTES = 4096
_EMPTY_PAGE_BYTES = 106
"""The length in bytes of the header of SQLite's first page; until a table exists, only zeroes follow."""


def open_metadata(
    path: str,
    disk: Disk,
    config: BrokerConfig,
    random: Random,
    now_ms: int,
    *,
    cluster_id: str = "",
    sync: bool = True,
    first_users: Collection[FirstUser] = (),
) -> tuple[MetadataStore, BrokerConfig]:
    """Open the metadata store of a data folder; also returns the settings in force: ``config``, overlaid with the
    settings from AlterConfigs.

    A folder that Apache Kafka wrote is taken over: cluster id, topics with ids and overrides, producer ids.

    :param path: the store's file, or ``:memory:``.
    :param first_users: the credentials in a new file.
    :raises MetadataError: the folder belongs to another cluster or node, or its metadata cannot be read.
    :raises ConfigError: a stored setting is no longer allowed.
    """
    folder = read_meta_properties(disk)
    if folder is not None and folder.node_id != config.node_id:
        raise MetadataError(
            f"the data folder belongs to node {folder.node_id} and this broker is node {config.node_id}; "
            f"set node.id={folder.node_id} or name another data folder"
        )
    _remove_cut_beginning(disk)
    store = MetadataStore(
        path,
        node_id=config.node_id,
        random=random,
        cluster_id=cluster_id or (folder.cluster_id if folder is not None else ""),
        topic_defaults=config.topic_defaults,
        sync=sync,
        nothing_to_adopt=lambda: not _has_partitions(disk),
        first_users=first_users,
    )
    try:
        if not store.adopted:
            _adopt(store, disk, now_ms)
        return store, effective_config(store, config)
    except BaseException:
        store.close()
        raise


def _remove_cut_beginning(disk: Disk) -> None:
    """Remove a metadata file whose first page a power failure cut off, which SQLite would refuse as damaged.

    Nothing was acknowledged: the page, which SQLite writes without a journal, is synced before the first change.
    """
    if not disk.exists(FILE_NAME) or disk.exists(f"{FILE_NAME}-wal") or disk.size(FILE_NAME) > _PAGE_BYTES:
        return
    page = disk.read(FILE_NAME)
    if page and _SQLITE.startswith(page[: len(_SQLITE)].rstrip(b"\0")) and not any(page[_EMPTY_PAGE_BYTES:]):
        logger.warning(
            "%s is incomplete (its creation was interrupted while it was empty); creating it again", FILE_NAME
        )
        disk.remove(FILE_NAME)


def _has_partitions(disk: Disk) -> bool:
    """Whether a folder may be a partition's, Kafka's ``__cluster_metadata-0`` included."""
    return any(name.rpartition("-")[2].isdecimal() for name in disk.list(""))


def _adopt(store: MetadataStore, disk: Disk, now_ms: int) -> None:
    """Take over topics and producer ids from a folder that Apache Kafka wrote."""
    from oncelog.broker.metadata.adoption import read_cluster_metadata, topics_in

    known = read_cluster_metadata(disk)
    try:
        topics = topics_in(disk, store.node_id, known)
    except CorruptLogError as error:
        raise MetadataError(
            f"{error}. The data folder has no topics in {FILE_NAME}, so they are read from their folders: restore that "
            "file, or move the damaged folder away, with its records"
        ) from error
    store.adopt(topics, known.next_producer_id if known is not None else 0, now_ms)


def effective_config(store: MetadataStore, config: BrokerConfig) -> BrokerConfig:
    """``config`` overlaid with the settings from AlterConfigs, for all brokers and for this one; topics use the
    resulting defaults."""
    dynamic = {
        **store.dynamic_config(ResourceType.BROKER, ""),
        **store.dynamic_config(ResourceType.BROKER, str(store.node_id)),
    }
    try:
        effective = config.with_dynamic(dynamic)
    except ConfigError as error:
        raise ConfigError(f"a setting stored by AlterConfigs contradicts the broker's own: {error}") from error
    store.set_topic_defaults(effective.topic_defaults)
    return effective
