"""Clients of Kafka clusters, kept in a process of Spark across tasks and batches.

Called by readers and sink, on the driver and in tasks. They end with the process, or when it is closed
(:mod:`oncelog.spark.process`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from oncelog.client.core.config import ClientConfig, known_properties
from oncelog.errors import KafkaError
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from oncelog.spark.options import ClusterOptions, SinkOptions, SourceOptions
from oncelog.spark.process import this_process

logger = logging.getLogger(__name__)

_Settings: TypeAlias = tuple[tuple[tuple[str, str], ...], ClusterOptions]


class Connections:
    """One client for each set of settings, connected when it is first asked for."""

    def __init__(self) -> None:
        self._clusters: dict[_Settings, KafkaCluster] = {}
        self._lock = threading.Lock()

    def cluster(self, options: SourceOptions | SinkOptions) -> KafkaCluster:
        """The client for these options. Raises KafkaError if no broker answers."""
        settings = tuple(sorted(options.client.items())), options.cluster
        cluster = self._clusters.get(settings)
        if cluster is not None:
            return cluster
        unreachable = partial(_warn_unreachable, options.cluster)
        made = KafkaCluster.connect(client_config(options.client), options.cluster, unreachable)
        with self._lock:
            kept = self._clusters.setdefault(settings, made)
        if kept is not made:
            made.close()  # another thread has stored its client first
        return kept

    def close(self) -> None:
        with self._lock:
            clusters = list(self._clusters.values())
            self._clusters.clear()
        for cluster in clusters:
            cluster.close()


def cluster_for(options: SourceOptions | SinkOptions) -> KafkaCluster:
    """The client for these options in this process; connects on first use. Raises KafkaError if no broker answers."""
    return this_process().part(Connections).cluster(options)


def _warn_unreachable(waits: ClusterOptions, error: KafkaError) -> None:
    logger.warning("%s; trying again until %s=%d has passed", error, waits.timeout_setting, waits.timeout_ms)


def client_config(properties: Mapping[str, str]) -> ClientConfig:
    """The client's settings from ``kafka.*`` options; properties that only a consumer or producer has are left out."""
    known = known_properties(ClientConfig)
    return ClientConfig.from_properties({name: value for name, value in properties.items() if name in known})
