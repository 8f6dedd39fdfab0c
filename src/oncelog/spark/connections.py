"""Connections of a Spark worker, kept from task to task and batch to batch.

Called by readers and sink, on the driver and in tasks. Workers are processes that serve many tasks, so clients are
kept here by their settings; they end with the process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from oncelog.client.core.config import ClientConfig, known_properties
from oncelog.errors import ConfigError
from oncelog.spark.kafka_cluster import KafkaCluster
from oncelog.spark.options import SinkOptions, SourceOptions

_clusters: dict[tuple[int, tuple[tuple[str, str], ...]], KafkaCluster] = {}


def cluster_for(options: SourceOptions | SinkOptions) -> KafkaCluster:
    """The client for these options in this process; connects on first use. Raises KafkaError when no broker answers."""
    key = (os.getpid(), tuple(sorted(options.client.items())))
    if key not in _clusters:
        fetch_bytes = options.client.get("max.partition.fetch.bytes", "")
        _clusters[key] = KafkaCluster(
            client_config(options.client), fetch_bytes=int(fetch_bytes) if fetch_bytes else None
        )
    return _clusters[key]


def client_config(properties: Mapping[str, str]) -> ClientConfig:
    """The client's settings from ``kafka.*`` options, Java's way of naming users and certificates included.

    Properties that tune only the Java client are left out.
    """
    known = known_properties(ClientConfig)
    chosen = {name: value for name, value in properties.items() if name in known}
    jaas = properties.get("sasl.jaas.config")
    if jaas:
        chosen |= _credentials(jaas)
    if properties.get("ssl.endpoint.identification.algorithm", "https") == "":
        chosen["ssl.check.hostname"] = "false"
    for store, name in (("truststore", "ssl.cafile"), ("keystore", "ssl.certfile")):
        location = properties.get(f"ssl.{store}.location")
        if not location:
            continue
        if properties.get(f"ssl.{store}.type", "JKS").upper() != "PEM":
            raise ConfigError(
                f"kafka.ssl.{store}.location is {location}: only PEM files can be read; set kafka.ssl.{store}.type "
                f"to PEM, or give the file as kafka.{name}"
            )
        chosen[name] = location
    return ClientConfig.from_properties(chosen)


def _credentials(jaas: str) -> dict[str, str]:
    """User and password of a line of ``sasl.jaas.config``."""
    fields = dict(re.findall(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', jaas))
    if "username" not in fields or "password" not in fields:
        raise ConfigError('kafka.sasl.jaas.config must hold username="..." and password="..."')
    return {"sasl.username": fields["username"], "sasl.password": fields["password"]}
