"""Opens a data folder's metadata and determines the settings in force.

Called once by the server, before the broker core is created.
"""

from __future__ import annotations

from oncelog.config import BrokerConfig
from oncelog.errors import ConfigError
from oncelog.log.checkpoints import read_meta_properties
from oncelog.metadata.metadata_errors import MetadataError
from oncelog.metadata.store import MetadataStore, ResourceType
from oncelog.ports import Disk, Random


def open_metadata(
    path: str, disk: Disk, config: BrokerConfig, random: Random, now_ms: int, *, cluster_id: str = "", sync: bool = True
) -> tuple[MetadataStore, BrokerConfig]:
    """The store of a data folder, and the settings in force: the given ones, overlaid with those from AlterConfigs.

    A folder that Apache Kafka wrote is taken over: cluster id, topics with ids and overrides, producer ids.

    :param path: the store's file, or ``:memory:``.
    :raises MetadataError: the folder belongs to another cluster or node, or its metadata cannot be read.
    :raises ConfigError: a stored setting is no longer allowed.
    """
    folder = read_meta_properties(disk)
    if folder is not None and folder.node_id != config.node_id:
        raise MetadataError(
            f"the data folder belongs to node {folder.node_id} and this broker is node {config.node_id}; "
            f"set node.id={folder.node_id} or name another data folder"
        )
    store = MetadataStore(
        path,
        node_id=config.node_id,
        random=random,
        cluster_id=cluster_id or (folder.cluster_id if folder is not None else ""),
        topic_defaults=config.topic_defaults,
        sync=sync,
        nothing_to_adopt=lambda: not _has_partitions(disk),
    )
    try:
        if not store.adopted:
            _adopt(store, disk, now_ms)
        return store, effective_config(store, config)
    except BaseException:
        store.close()
        raise


def _has_partitions(disk: Disk) -> bool:
    """Whether the folder has what may be a partition's folder, Kafka's ``__cluster_metadata-0`` among them."""
    return any(name.rpartition("-")[2].isdecimal() for name in disk.list(""))


def _adopt(store: MetadataStore, disk: Disk, now_ms: int) -> None:
    """Take over the contents of a folder that Apache Kafka wrote."""
    from oncelog.metadata.adoption import read_cluster_metadata, topics_in

    known = read_cluster_metadata(disk)
    topics = topics_in(disk, store.node_id, known)
    store.adopt(topics, known.next_producer_id if known is not None else 0, now_ms)


def effective_config(store: MetadataStore, config: BrokerConfig) -> BrokerConfig:
    """``config`` overlaid with the dynamic settings of all brokers and of this one; topics use the resulting
    defaults."""
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
