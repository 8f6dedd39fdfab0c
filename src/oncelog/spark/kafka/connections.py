"""Connections of a Spark worker, kept across tasks and batches.

Called by readers and sink, on the driver and in tasks. Workers are processes that serve many tasks, so clients are
kept here by their settings; they end with the process.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import partial

from oncelog.client.core.config import ClientConfig, known_properties
from oncelog.errors import KafkaError
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from oncelog.spark.options import ClusterOptions, SinkOptions, SourceOptions

logger = logging.getLogger(__name__)

_clusters: dict[tuple[int, tuple[tuple[str, str], ...], ClusterOptions], KafkaCluster] = {}


def cluster_for(options: SourceOptions | SinkOptions) -> KafkaCluster:
    """The client for these options in this process; connects on first use. Raises KafkaError if no broker answers."""
    key = (os.getpid(), tuple(sorted(options.client.items())), options.cluster)
    cluster = _clusters.get(key)
    if cluster is None:
        unreachable = partial(_warn_unreachable, options.cluster)
        cluster = _clusters[key] = KafkaCluster(client_config(options.client), options.cluster, unreachable)
    return cluster


def _warn_unreachable(waits: ClusterOptions, error: KafkaError) -> None:
    logger.warning("%s; trying again until %s=%d is over", error, waits.patience_setting, waits.patience_ms)


def client_config(properties: Mapping[str, str]) -> ClientConfig:
    """The client's settings from ``kafka.*`` options; properties that only a consumer or producer has are left out."""
    known = known_properties(ClientConfig)
    return ClientConfig.from_properties({name: value for name, value in properties.items() if name in known})
