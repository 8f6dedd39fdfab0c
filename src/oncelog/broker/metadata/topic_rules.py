"""Kafka's rules for topics: names, collisions, partition counts, overrides. Pure; called by the admin APIs.

Refusals are values: None if nothing is wrong, otherwise Kafka's message. Sources: Kafka's ``Topic``, ``LogConfig`` and
``ReplicationControlManager``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from oncelog.errors import ConfigError
from oncelog.settings.config import TopicConfig, parse
from oncelog.settings.kafka_properties import topic_properties

MAX_NAME_LENGTH = 249
CLUSTER_METADATA_TOPIC = "__cluster_metadata"
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def name_refusal(name: str) -> str | None:
    """Kafka's message if ``name`` cannot be the name of a topic, else None."""
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        reason = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif not _LEGAL.fullmatch(name):
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return None
    return f"Topic name is invalid: {reason}"


def overrides_refusal(values: Mapping[str, str | None], defaults: TopicConfig) -> str | None:
    """Kafka's message if ``values`` cannot be the overrides of a topic, else None
    (``ControllerConfigurationValidator``)."""
    nulls = [name for name, value in values.items() if value is None]
    if nulls:
        return f"Null value not supported for topic configs: {','.join(nulls)}"
    given = {name: value for name, value in values.items() if value is not None}
    for name in given:
        if name not in topic_properties():
            return f"Unknown topic config name: {name}"
    try:
        for name, value in given.items():
            topic_properties()[name].parse(value)
        config = parse(TopicConfig, given, defaults)
    except ConfigError as error:
        return str(error)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        return (
            f"conflict topic config setting min.compaction.lag.ms ({config.min_compaction_lag_ms}) > "
            f"max.compaction.lag.ms ({config.max_compaction_lag_ms})"
        )
    if config.remote_storage_enable:
        return (
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    return None
