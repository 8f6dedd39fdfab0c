"""Every setting that is said to have an effect is read, and none that is said to have none.

By text: a field counts as read if its name stands behind a dot, a property if its name stands in quotes, in a module
that does not only declare it. That finds what nobody reads, not what is read to no purpose.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from oncelog.broker.metadata.property_effects import OTHERS, SECURITY
from oncelog.client.core.config import AdminConfig, ConsumerConfig, ProducerConfig
from oncelog.settings.config import TOPIC_SYNONYMS, BrokerConfig, TopicConfig
from oncelog.settings.fields import Settings, properties
from tools.document_settings import without_effect

SOURCE = Path(__file__).parents[2] / "src" / "oncelog"
DECLARING = {"kafka_properties.py", "java_settings.py", "property_effects.py"}
SERVER = ("broker", "settings")
REFUSED = {
    "remote.storage.enable",
    "delegation.token.secret.key",
    "log.cleaner.threads",
    "log.cleaner.dedupe.buffer.size",
}
"""Read to refuse what it asks for, or to warn."""
NAME = re.compile(r"""["']([a-z0-9.]+)["']""")


@cache
def source(*of: str) -> str:
    paths = sorted(path for path in SOURCE.rglob("*.py") if path.name not in DECLARING)
    chosen = [
        path
        for path in paths
        if path.parent.name != "generated" and (not of or path.relative_to(SOURCE).parts[0] in of)
    ]
    return "\n".join(path.read_text(encoding="utf-8") for path in chosen)


@cache
def attributes() -> frozenset[str]:
    return frozenset(re.findall(r"\.([a-z_0-9]+)", NAME.sub("", source())))


@cache
def quoted(*of: str) -> Counter[str]:
    return Counter(NAME.findall(source(*of)))


@cache
def declared() -> Counter[str]:
    return Counter(re.findall(r"""setting\(\s*["']([a-z0-9.]+)["']""", source()))


def is_read(cls: type[Settings], name: str) -> bool:
    """Whether a field is read: as an attribute, by its property, or as the default of topics."""
    return (
        properties(cls)[name].name in attributes()  # type: ignore[arg-type]
        or quoted()[name] > declared()[name]
        or name.removeprefix("group.") in quoted()
        or any(name in (synonym for synonym, _ in synonyms) for synonyms in TOPIC_SYNONYMS.values())
    )


@pytest.mark.parametrize("cls", [TopicConfig, BrokerConfig, AdminConfig, ProducerConfig, ConsumerConfig])
def test_every_setting_with_an_effect_is_read_and_no_other_setting_is_read(cls: type[Settings]) -> None:
    known = properties(cls)  # type: ignore[arg-type]
    assert [name for name, f in known.items() if f.metadata["effect"] and not is_read(cls, name)] == []
    idle = [name for name, f in known.items() if not f.metadata["effect"] and name not in REFUSED]
    assert [name for name in idle if known[name].name in attributes()] == []


def test_each_broker_property_is_listed_either_as_a_field_or_as_another_property() -> None:
    assert not set(OTHERS) & {*properties(BrokerConfig), *(name for names in SECURITY.values() for name in names)}


def test_each_property_without_a_field_that_has_an_effect_is_read() -> None:
    """Properties of security are read by listener, by names that are put together; they have tests of their own."""
    assert [name for name in OTHERS if not {name, name.removeprefix("group.")} & set(quoted(*SERVER))] == []


def test_a_broker_reads_no_property_that_is_documented_as_having_no_effect() -> None:
    read = quoted(*SERVER)
    assert [item.name for item in without_effect() if item.name in read and item.name not in REFUSED] == []
