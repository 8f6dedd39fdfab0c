"""Write ``docs/reference/configuration.md`` from the settings classes; ``--check`` says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Any

from oncelog.broker.metadata.property_effects import OTHERS, SECURITY, effect_of
from oncelog.client.core.config import AdminConfig, ConsumerConfig, ProducerConfig
from oncelog.settings.config import TOPIC_SYNONYMS, BrokerConfig, TopicConfig
from oncelog.settings.fields import default_of, properties
from oncelog.settings.kafka_properties import (
    AllowedValues,
    KafkaProperty,
    UpdateMode,
    broker_properties,
    client_metrics_properties,
    group_properties,
    render,
)
from tools.property_tables import allowed_values

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "configuration.md"

INTRODUCTION = """\
# Configuration

Made by `python tools/document_settings.py` from the settings classes; do not edit.

Names, types, defaults and checks are those of Apache Kafka 4.4. If a default differs, the text says so. Settings
come from a Java properties file (`--config FILE`), from `--set NAME=VALUE`, from the keyword `settings` of
`oncelog.Broker`, and while the broker runs from AlterConfigs and IncrementalAlterConfigs (`kafka-configs`). An unknown
name is refused at the start, and the refusal names the nearest known one. A running broker keeps an unknown name
without effect and never shows its value, as Apache Kafka does, and the log names the nearest known one.

Durations are in milliseconds and sizes in bytes unless the name says otherwise. "Changes" says whether a
setting of a running broker can be changed: `per-broker` for one broker, `cluster-wide` for one or all brokers,
`at start` not at all.
"""


def main() -> int:
    page = "\n".join(_page())
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        sys.stderr.write(f"{PAGE} is out of date: run python tools/document_settings.py\n")
        return 1
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page)
    return 0


def _page() -> Iterator[str]:
    yield INTRODUCTION
    fields = properties(BrokerConfig)
    yield "## Broker settings with an effect\n"
    yield "| name | type | default | allowed | changes | what it does |"
    yield "|---|---|---|---|---|---|"
    rows = {name: _row(name, f, broker_properties().get(name), changes=True) for name, f in fields.items()}
    rows |= {name: f"{_start(broker_properties()[name], changes=True)} {doc} |" for name, doc in OTHERS.items()}
    yield from (rows[name] for name in sorted(rows))
    yield "\n## Topic settings\n"
    yield "Each can be given to CreateTopics and changed at any time. Its default is a broker setting, as in Kafka.\n"
    yield "| name | type | default | allowed | broker's default from | what it does |"
    yield "|---|---|---|---|---|---|"
    for name, f in sorted(properties(TopicConfig).items()):
        sources = ", ".join(f"`{synonym}`" for synonym, _ in TOPIC_SYNONYMS.get(name, ()))
        yield f"| `{name}` | {_kind(f)} | {_default(f)} | {_range(f)} | {sources} | {_doc(f)} |"
    for title, cls in (("Producer", ProducerConfig), ("Consumer", ConsumerConfig), ("Admin client", AdminConfig)):
        yield f"\n## {title} settings\n"
        yield "| name | type | default | allowed | what it does |"
        yield "|---|---|---|---|---|"
        for name, f in sorted(properties(cls).items()):
            yield _row(name, f, None, changes=False)
    yield "\n## Group settings\n"
    yield "Kept for each group by AlterConfigs on a resource of type GROUP, at any time; checked against the broker's"
    yield "bounds. `streams.*` have no other effect: this broker has no such groups.\n"
    yield from _table(group_properties().values(), changes=False)
    yield "\n## Client metrics subscriptions\n"
    yield "Kept and shown (KIP-714), and changed at any time; this broker collects no metrics from clients.\n"
    yield from _table(client_metrics_properties().values(), changes=False)
    yield "\n## Broker settings that are defaults of topics\n"
    yield "These apply if a topic has no setting of its own; [above](#topic-settings) lists them.\n"
    yield from _table(item for name, item in broker_properties().items() if name in _of_topics())
    yield "\n## Broker settings without an effect\n"
    yield "Accepted, checked and shown as Apache Kafka does, so that its configuration files can be used as they are.\n"
    yield from _table(item for item in without_effect() if effect_of(item.name) is None)
    yield "\n## Bounds of the groups' settings\n"
    yield "They have no other effect.\n"
    yield from _table(item for item in without_effect() if effect_of(item.name) is not None)
    yield ""


def _of_topics() -> set[str]:
    return {synonym for synonyms in TOPIC_SYNONYMS.values() for synonym, _ in synonyms}


def without_effect() -> list[KafkaProperty]:
    """Kafka's broker properties that oncelog does not use: neither a setting of its brokers, nor the default of a
    topic's setting, nor on the page [security](security.md)."""
    known = {
        *properties(BrokerConfig),
        *_of_topics(),
        *OTHERS,
        *(name for names in SECURITY.values() for name in names),
    }
    return [item for name, item in broker_properties().items() if name not in known and not item.internal]


def _row(name: str, f: Field[Any], known: KafkaProperty | None, *, changes: bool) -> str:
    doc = _doc(f)
    if known is not None and known.default is not None and known.default != render(default_of(f)):
        doc += f" Apache Kafka's default is `{known.default}`."
    changing = f" {_changes(known)} |" if changes else ""
    return f"| `{name}` | {_kind(f)} | {_default(f)} | {_range(f)} |{changing} {doc} |"


def _table(items: Iterable[KafkaProperty], *, changes: bool = True) -> Iterator[str]:
    yield "| name | type | default | allowed |" + (" changes |" if changes else "")
    yield "|---|---|---|---|" + ("---|" if changes else "")
    for item in items:
        yield _start(item, changes=changes)


def _start(item: KafkaProperty, *, changes: bool) -> str:
    default = "" if item.default is None else f"`{item.default}`" if item.default else "empty"
    changing = f" {_changes(item)} |" if changes else ""
    return f"| `{item.name}` | {item.kind.name.lower()} | {default} | {allowed_values(item.allowed)} |{changing}"


def _changes(known: KafkaProperty | None) -> str:
    return "at start" if known is None or known.update is UpdateMode.READ_ONLY else known.update.value


def _kind(f: Field[Any]) -> str:
    return str(f.metadata["kind"].name.lower())


def _default(f: Field[Any]) -> str:
    if f.default is MISSING:
        return "must be given"
    text = "" if f.default is None else render(f.default)
    return f"`{text}`" if text else "empty"


def _range(f: Field[Any]) -> str:
    meta = f.metadata
    return allowed_values(AllowedValues(meta["low"], meta["high"], meta["also"], meta["choices"]))


def _doc(f: Field[Any]) -> str:
    doc = str(f.metadata["doc"])
    return doc if f.metadata["effect"] else f"{doc} No effect here."


if __name__ == "__main__":
    sys.exit(main())
