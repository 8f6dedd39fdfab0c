"""Write ``docs/reference/security.md`` from the table of properties; ``--check`` says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from oncelog.broker.metadata.property_effects import SECURITY
from oncelog.settings.kafka_properties import KafkaProperty, UpdateMode, broker_properties
from tools.property_tables import allowed_values

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "security.md"

INTRODUCTION = """\
# Security properties

Made by `python -m tools.document_security` from the table of properties; do not edit.

Names, types, defaults and checks are those of Apache Kafka 4.4. `listener.name.NAME.X` is the property X for one
listener only and takes precedence over X. A property changes with a start of the broker, or as the column says.
[Secure a broker](../how-to/security.md) shows how to use them.
"""

LIVE = (
    *("ssl.", "max.connection", "listeners", "listener.security.protocol.map"),
    *("sasl.enabled.mechanisms", "sasl.jaas.config"),
)
"""The prefixes of properties whose changes apply from the next connection on."""
NOT_IN_THE_TABLE = {
    "super.users": "| `super.users` | string | empty | |",
    "allow.everyone.if.no.acl.found": "| `allow.everyone.if.no.acl.found` | boolean | `false` | |",
}
"""Properties of Apache Kafka's authorizer, not of its broker."""


def main() -> int:
    page = "\n".join(_page())
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        sys.stderr.write(f"{PAGE} is out of date: run python -m tools.document_security\n")
        return 1
    PAGE.write_text(page)
    return 0


def _page() -> Iterator[str]:
    yield INTRODUCTION
    known = broker_properties()
    for heading, rows in SECURITY.items():
        yield f"## {heading}\n"
        yield "| name | type | default | changes | meaning |"
        yield "|---|---|---|---|---|"
        for name, doc in rows.items():
            allowed = allowed_values(known[name].allowed) if name in known else ""
            yield f"{NOT_IN_THE_TABLE.get(name) or _start(known[name])} {doc}{f' ({allowed})' if allowed else ''} |"
        yield ""


def _start(item: KafkaProperty) -> str:
    default = "" if item.default is None else f"`{item.default}`" if item.default else "empty"
    live = item.name.startswith(LIVE) and item.name != "ssl.principal.mapping.rules"
    changes = item.update.value if live and item.update is not UpdateMode.READ_ONLY else ""
    return f"| `{item.name}` | {item.kind.name.lower()} | {default} | {changes} |"


if __name__ == "__main__":
    sys.exit(main())
