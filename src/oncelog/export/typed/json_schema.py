"""The shape of a JSON Schema: what it says of types and properties. Pure."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from oncelog.export.typed.shape import AS_JSON, Shape, listed, plain, struct

_PRIMITIVES = {
    "string": plain(pa.string()),
    "boolean": plain(pa.bool_()),
    "integer": Shape(pa.int64(), int),
    "number": Shape(pa.float64(), float),
}


def json_shape(schema: Any) -> Shape:
    """:param schema: the parsed text. References outside it are not followed."""
    return _of(schema, schema, ())


def _of(schema: Any, root: Any, around: tuple[str, ...]) -> Shape:
    if not isinstance(schema, dict):
        return AS_JSON
    reference = schema.get("$ref")
    if reference is not None:
        found = None if reference in around else _referred(str(reference), root)
        return _of(found, root, (*around, str(reference)))
    for choice in ("oneOf", "anyOf"):
        kinds = [one for one in schema.get(choice, ()) if one != {"type": "null"}]
        if kinds:
            return _of(kinds[0], root, around) if len(kinds) == 1 else AS_JSON
    named = schema.get("type")
    types = [one for one in (named if isinstance(named, list) else [named]) if one != "null"]
    if len(types) != 1:
        return AS_JSON
    match types[0]:
        case "object" if isinstance(schema.get("properties"), dict):
            return struct({name: _of(inner, root, around) for name, inner in schema["properties"].items()})
        case "array" if isinstance(schema.get("items"), dict):
            return listed(_of(schema["items"], root, around))
        case kind:
            return _PRIMITIVES.get(str(kind), AS_JSON)


def _referred(reference: str, root: Any) -> Any:
    """What a reference inside the schema leads to; None if it leads elsewhere."""
    if not reference.startswith("#/"):
        return root if reference == "#" else None
    found = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, dict) else None
    return found
