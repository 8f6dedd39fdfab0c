"""Write ``client/core/keywords.py``, the clients' keyword arguments as types, from the settings' classes; ``--check``
says whether it is up to date."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

from oncelog.client.core.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig, known_properties

MODULE = Path(__file__).parents[1] / "src" / "oncelog" / "client" / "core" / "keywords.py"
HEAD = '''"""The keyword arguments of the clients, so that type checkers find a wrong name or type before a run.

Made by `python -m tools.type_keywords` from the settings' classes; do not edit. Imported by type checkers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict
'''
KINDS = {"AdminKeywords": AdminConfig, "ConsumerKeywords": ConsumerConfig, "ProducerKeywords": ProducerConfig}
SPECIAL = {
    "acks": "int | str | None",
    "bootstrap_servers": "str | Sequence[str] | None",
    "partition_assignment_strategy": "Sequence[Any] | None",
}
"""The types of keywords that accept more than their setting's type."""
AIOKAFKAS = {
    "api_version": "object",
    "loop": "object",
    "sasl_kerberos_domain_name": "str | None",
    "sasl_kerberos_service_name": "str | None",
    "sasl_oauth_token_provider": "Any",
}
"""The keyword arguments of aiokafka that are not settings, with their types."""
OF_CONSUMERS = {"consumer_timeout_ms": "int | None"}


def main() -> int:
    text = HEAD + "".join(_class(name, kind) for name, kind in KINDS.items())
    text += '\n\n__all__ = ["AdminKeywords", "ConsumerKeywords", "ProducerKeywords"]\n'
    if "--check" in sys.argv[1:]:
        if MODULE.exists() and MODULE.read_text() == text:
            return 0
        sys.stderr.write(f"{MODULE} is out of date: run python -m tools.type_keywords\n")
        return 1
    MODULE.write_text(text)
    return 0


def _class(name: str, kind: type[ClientConfig]) -> str:
    types = get_type_hints(kind)
    settings = {field.name for field in known_properties(kind).values()}
    lines = {field.name: SPECIAL.get(field.name) or _text(types[field.name]) for field in fields(kind)}
    lines = {field: text for field, text in lines.items() if field in settings} | AIOKAFKAS
    if kind is ConsumerConfig:
        lines |= OF_CONSUMERS
    body = "".join(f"    {field}: {lines[field]}\n" for field in sorted(lines))
    return f'\n\nclass {name}(TypedDict, total=False):\n    """Settings of :class:`{kind.__name__}`."""\n\n{body}'


def _text(kind: object) -> str:
    """The text of a setting's type. None is added, because it stands for the setting's default."""
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    text = text.replace("tuple[str, ...]", "Sequence[str]")
    return text if "None" in text else f"{text} | None"


if __name__ == "__main__":
    sys.exit(main())
