"""Settings as DescribeConfigs returns them: the value in force, its source, and the values that it overrides.

Pure; called by the config APIs and CreateTopics. Source: Kafka's ``ConfigHelper``, with the same order of sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from oncelog.broker.metadata.property_effects import effect_of
from oncelog.settings.config import LISTENER_PREFIX, TOPIC_SYNONYMS, BrokerConfig, TopicConfig, is_broker_setting, parse
from oncelog.settings.fields import default_of, properties
from oncelog.settings.kafka_properties import (
    DEFAULTS_OF_GROUPS,
    KafkaProperty,
    UpdateMode,
    broker_properties,
    client_metrics_properties,
    group_properties,
    render,
    topic_properties,
)

NO_EFFECT = "Checked and shown as Apache Kafka does; this broker has no use for it."
MIN_IN_SYNC = "min.insync.replicas"
"""The only property that is always set for all brokers and never for a single one (KIP-966)."""


class ConfigSource(IntEnum):
    """The source of a value (Kafka's ``DescribeConfigsResponse.ConfigSource``)."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


@dataclass(frozen=True, slots=True)
class Synonym:
    """A property that can supply a setting's value, with the value it has; None for a secret."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    """One setting of a resource, as DescribeConfigs returns it."""

    name: str
    value: str | None
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
    kind: int
    doc: str
    read_only: bool = False
    sensitive: bool = False


def for_every_broker(config: BrokerConfig, altered: Mapping[str, str]) -> Mapping[str, str]:
    """All settings for all brokers: those set by AlterConfigs, and ``MIN_IN_SYNC`` in any case.

    Kafka's controller sets ``MIN_IN_SYNC`` to its startup value as soon as eligible leader replicas are enabled.
    """
    return {MIN_IN_SYNC: render((config.started or config).topic_defaults.min_insync_replicas), **altered}


@dataclass(frozen=True)
class BrokerLayers:
    """The possible sources of a broker's property, from the one that takes precedence to the default."""

    config: BrokerConfig
    own: Mapping[str, str]
    every: Mapping[str, str]
    found: Mapping[str, str] = field(default_factory=dict)
    """Values that the broker determined at its start because no value was given: addresses, data folder."""

    def static(self, name: str) -> str | None:
        """The value that was given when the broker started; None if no value was given."""
        started = self.config.started or self.config
        if name in started.static:
            known = broker_properties().get(name)
            return started.static[name] if known is None else render(known.parse(started.static[name]))
        if name in self.found:
            return self.found[name]
        f = properties(BrokerConfig).get(name)
        if f is None or getattr(started, f.name) == f.default:
            return None
        return render(getattr(started, f.name))

    def text(self, name: str) -> str | None:
        """The value of a property that is in force."""
        if name in self.found and name not in (self.config.started or self.config).static:
            return self.found[name]
        return self.config.text(name)

    def default(self, name: str) -> str | None:
        f = properties(BrokerConfig).get(name)
        known = broker_properties().get(name)
        if f is None or (known is not None and known.default is None):
            return known.default if known is not None else None
        if known is None and not name.startswith(OURS):
            return None
        return render(default_of(f))

    def synonyms(self, name: str, names: tuple[str, ...]) -> tuple[Synonym, ...]:
        """The values of ``names`` in each source, from the first value of ``name`` itself on."""
        hidden = _is_hidden(name)
        layers = (
            (self.own.get, ConfigSource.DYNAMIC_BROKER),
            (self.every.get, ConfigSource.DYNAMIC_DEFAULT_BROKER),
            (self.static, ConfigSource.STATIC_BROKER),
            (self.default, ConfigSource.DEFAULT),
        )
        found: list[Synonym] = []
        for look_up, source in layers:
            for synonym in names:
                value = look_up(synonym)
                if value is not None and (found or synonym == name):
                    found.append(Synonym(synonym, None if hidden else value, source))
        return tuple(found)


OURS = "oncelog."
"""Prefix of properties that Apache Kafka does not have."""

_FAMILIES = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)


def _family(name: str) -> tuple[str, ...]:
    """All names of a broker property, in order of precedence (``brokerConfigSynonyms``)."""
    for family in _FAMILIES:
        if name in family and (name != "log.flush.scheduler.interval.ms"):
            return family
    return (name,)


def topic_entries(layers: BrokerLayers, overrides: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """Every setting of a topic, sorted by name."""
    config = parse(TopicConfig, overrides, layers.config.topic_defaults)
    fields = properties(TopicConfig)
    for name, known in topic_properties().items():
        if known.internal and name not in overrides:
            continue
        f = fields[name]
        value = render(known.parse(overrides[name])) if name in overrides else render(getattr(config, f.name))
        strongest = TOPIC_SYNONYMS[name][0][0] if name in TOPIC_SYNONYMS else None
        synonyms = layers.synonyms(strongest, _family(strongest)) if strongest else ()
        if name in overrides:
            synonyms = (Synonym(name, value, ConfigSource.TOPIC), *synonyms)
        yield DescribedConfig(name, value, _source(synonyms), synonyms, known.kind.value, f.metadata["doc"])


def broker_entries(layers: BrokerLayers) -> Iterator[DescribedConfig]:
    """Every setting of this broker, including those that Apache Kafka does not have, sorted by name.

    Properties of the authorizer are not the broker's: they are returned, without a value, only if they were set.
    """
    ours = {name: f for name, f in properties(BrokerConfig).items() if name not in broker_properties()}
    foreign = {name for name in (*layers.own, *layers.every) if not is_broker_setting(name)}
    for name in sorted({*broker_properties(), *ours, *foreign}):
        known = broker_properties().get(name)
        synonyms = layers.synonyms(name, _family(name))
        if known is None and not name.startswith(OURS) and name not in foreign:
            if name in layers.config.static:
                yield DescribedConfig(name, None, _source(synonyms), synonyms, 0, "", read_only=True, sensitive=True)
        elif name in foreign:
            yield DescribedConfig(name, None, _source(synonyms), synonyms, 0, "", read_only=True, sensitive=True)
        elif known is None:
            f = ours[name]
            value = render(getattr(layers.config, f.name))
            yield DescribedConfig(
                name, value, _source(synonyms), synonyms, f.metadata["kind"].value, _doc(name), read_only=True
            )
        elif not known.internal or any(name in given for given in (layers.config.static, layers.own, layers.every)):
            yield _broker_entry(layers, known, synonyms)


def default_broker_entries(layers: BrokerLayers) -> Iterator[DescribedConfig]:
    """Settings that AlterConfigs has set for all brokers of the cluster."""
    for name in sorted(layers.every):
        known, hidden = broker_properties().get(name), _is_hidden(name)
        synonym = Synonym(name, None if hidden else layers.every[name], ConfigSource.DYNAMIC_DEFAULT_BROKER)
        kind = known.kind.value if known is not None else 0
        foreign = not is_broker_setting(name)
        doc = "" if foreign else _doc(name)
        yield DescribedConfig(
            name, synonym.value, synonym.source, (synonym,), kind, doc, read_only=foreign, sensitive=hidden
        )


def _is_hidden(name: str) -> bool:
    """Whether the value of a setting is hidden: a secret, or an unknown setting, which may be a secret."""
    known = broker_properties().get(LISTENER_PREFIX.sub("", name))
    return known.sensitive if known is not None else not name.startswith(OURS)


def _broker_entry(layers: BrokerLayers, known: KafkaProperty, synonyms: tuple[Synonym, ...]) -> DescribedConfig:
    return DescribedConfig(
        known.name,
        None if known.sensitive else layers.text(known.name),
        _source(synonyms),
        synonyms,
        known.kind.value,
        _doc(known.name),
        read_only=known.update is UpdateMode.READ_ONLY,
        sensitive=known.sensitive,
    )


def group_entries(layers: BrokerLayers, overrides: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """The settings of a group, sorted by name; internal ones only if they are set. The broker's ``group.*`` settings
    are the defaults."""
    for name, known in group_properties().items():
        if known.internal and name not in overrides:
            continue
        broker_name = DEFAULTS_OF_GROUPS.get(name, f"group.{name}")
        if broker_name in broker_properties():
            default = layers.config.text(broker_name)
            synonyms = layers.synonyms(broker_name, (broker_name,))
        else:
            default = known.default
            synonyms = (Synonym(name, default, ConfigSource.DEFAULT),)
        value = render(known.parse(overrides[name])) if name in overrides else default
        if name in overrides:
            synonyms = (Synonym(name, value, ConfigSource.GROUP), *synonyms)
        yield DescribedConfig(name, value, _source(synonyms), synonyms, known.kind.value, _doc(broker_name))


def client_metrics_entries(overrides: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """Every setting of a client metrics subscription (KIP-714), sorted by name."""
    for name, known in client_metrics_properties().items():
        given = name in overrides
        source = ConfigSource.CLIENT_METRICS if given else ConfigSource.DEFAULT
        value = overrides[name] if given else known.default
        synonyms = (Synonym(name, value, source),) if given else ()
        yield DescribedConfig(name, value, source, synonyms, known.kind.value, NO_EFFECT)


def _source(synonyms: tuple[Synonym, ...]) -> ConfigSource:
    return synonyms[0].source if synonyms else ConfigSource.DEFAULT


def _doc(name: str) -> str:
    f = properties(BrokerConfig).get(name)
    if f is not None:
        return str(f.metadata["doc"])
    for topic_property, synonyms in TOPIC_SYNONYMS.items():
        if name in {synonym for synonym, _ in synonyms}:
            return f"The broker's default of the topic setting {topic_property}."
    return effect_of(name) or NO_EFFECT
