"""Connections of a Spark worker, kept across tasks and batches.

Called by readers and sink, on the driver and in tasks. Workers are processes that serve many tasks, so clients are
kept here by their settings; they end with the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from oncelog.client.core.config import ClientConfig, known_properties
from oncelog.spark.kafka_cluster import KafkaCluster
from oncelog.spark.options import ClusterOptions, SinkOptions, SourceOptions

_clusters: dict[tuple[int, tuple[tuple[str, str], ...], ClusterOptions], KafkaCluster] = {}


def cluster_for(options: SourceOptions | SinkOptions) -> KafkaCluster:
    """The client for these options in this process; connects on first use. Raises KafkaError if no broker answers."""
    key = (os.getpid(), tuple(sorted(options.client.items())), options.cluster)
    if key not in _clusters:
        _clusters[key] = KafkaCluster(client_config(options.client), options.cluster)
    return _clusters[key]


def client_config(properties: Mapping[str, str]) -> ClientConfig:
    """The client's settings from ``kafka.*`` options; properties that only a consumer or producer has are left out."""
    known = known_properties(ClientConfig)
    return ClientConfig.from_properties({name: value for name, value in properties.items() if name in known})
