"""Write ``docs/reference/schema-values.md``, the result of reading a value of each schema type, from the samples of the
test that runs every reader; ``--check`` says whether the page is up to date."""

from __future__ import annotations

import datetime
import json
import sys
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.support.schema_samples import (
    ABSENT,
    AVRO,
    JSON_SCHEMA,
    PROTOBUF_DEFAULTS,
    PROTOBUF_SET,
    PROTOBUF_UNSET,
    Sample,
)

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "schema-values.md"

INTRODUCTION = """\
# Values of schemas

Made by `python tools/document_schema_values.py` from the samples of the test that asks every reader; do not edit. How
to use the readers: [A schema registry](../how-to/schemas.md), [Records with schemas in
Spark](../how-to/schemas-in-pipelines.md), [Export](../how-to/export.md).

**Python** is what the deserializers give, **JSON** what `consume --json` and the console show and `produce` takes,
**rows** what a Parquet or Delta table of an export holds, and what `from_registry` and pipelines give Spark: two values
if these differ, `=` if they are as in Python. Types whose values look alike everywhere, such as int, have no row.
"""
AVRO_TEXT = """\
The default, in the schema's JSON, of a field that the writer left out. A field that was written with this value is
read alike. Python has no years after 9999 or before 1: its deserializer refuses such a time, JSON has its number, and
rows hold the time.
"""
JSON_TEXT = """\
A written value. A missing property is null in rows, and missing in Python and JSON: as in Confluent's clients, the
`default` of a JSON Schema fills nothing in.
"""
PROTOBUF_TEXT = """\
An empty message of proto3. In Python `HasField` tells what is absent.
"""
SET_TEXT = "The same message with values, as Protobuf's JSON has them.\n"
DEFAULTS_TEXT = """\
An empty message of proto2. A field with a default has it, as in Java and in Spark's `from_protobuf`; JSON leaves it
out.
"""


def _page() -> Iterator[str]:
    yield INTRODUCTION
    yield from _section("Avro", AVRO_TEXT, AVRO, "default")
    yield from _section("JSON Schema", JSON_TEXT, JSON_SCHEMA, "value")
    yield from _section("Protobuf", PROTOBUF_TEXT, PROTOBUF_UNSET, "")
    yield from _section("Protobuf with values", SET_TEXT, PROTOBUF_SET, "value")
    yield from _section("Defaults of proto2", DEFAULTS_TEXT, PROTOBUF_DEFAULTS, "")


def _section(title: str, text: str, samples: list[Sample], given: str) -> Iterator[str]:
    yield f"## {title}\n\n{text}"
    heads = ["type", *([given] if given else []), "Python", "JSON", "rows"]
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for one in samples:
        cells = [one.name, *([_code(json.dumps(one.given, ensure_ascii=False))] if given else [])]
        python = one.in_reader(one.python)
        cells.append(_python(python))
        cells.append(_json(one.in_reader(one.shown)))
        rows = [one.in_reader(value) for value in (one.exported, one.spark)]
        cells.append(" / ".join(dict.fromkeys("=" if found is python else _python(found) for found in rows)))
        if len(set(cells[1:-1])) > 1 or cells[-1] != "=" or not given:
            yield f"| {' | '.join(cells)} |"
    yield ""


def _code(text: str) -> str:
    printable = "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)
    return f"`{printable.replace('|', chr(92) + '|')}`"


def _json(value: Any) -> str:
    return ABSENT if value is ABSENT else _code(json.dumps(value, ensure_ascii=False))


def _python(value: Any) -> str:
    return ABSENT if value is ABSENT else _code(_literal(value))


def _literal(value: Any) -> str:
    """A value as a program would write it, without module names."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {_literal(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + ")"
    if isinstance(value, datetime.datetime):
        return f"datetime {value.isoformat(' ')}"
    if isinstance(value, datetime.date | datetime.time):
        return f"{type(value).__name__} {value.isoformat()}"
    if isinstance(value, Decimal | uuid.UUID):
        return f"{type(value).__name__}('{value}')"
    return repr(value)


def main() -> int:
    page = "\n".join(_page()).rstrip() + "\n"
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        sys.stderr.write(f"{PAGE} is out of date: run python -m tools.document_schema_values\n")
        return 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
