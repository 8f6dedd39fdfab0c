"""Parses and writes Avro schemas as Confluent's registry does with Java's Avro. Pure. Called by the registry and by the
codec.

- A simple name, a field's name and a symbol consist of letters of any alphabet, digits and ``_``. A namespace and an
  alias may be anything, such as ``my-db.public.orders``.
- A type may be used before its definition, and defined twice in the same way.
- A default must fit its field.

A tree contains full names only: each use of a named type is a :class:`Named`, and its definition is among the tree's
types.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from oncelog.runtime import real_json as json
from oncelog.schemas.schema_errors import SchemaError

PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NAMED = ("record", "error", "enum", "fixed")
_TYPE_NAMES = (*PRIMITIVE, "record", "enum", "array", "map", "union", "fixed")
"""Names of types in Avro. A user-defined type with such a name is always written with its namespace."""
NO_NAMESPACE = "oncelog_none"
_AFTER_NAME = ("fields", "symbols", "default", "size")
_RESERVED = ("type", "name", "namespace", "doc", "aliases", "fields", "items", "size", "symbols", "values")
_FIELD_RESERVED = ("type", "name", "doc", "aliases", "default", "order")
_ORDERS = ("ascending", "descending", "ignore")
_MAX_LONG = 2**63 - 1
_MAX_SIZE = 2**31 - 9
"""The maximum length of an array in Java."""
_ESCAPED = re.compile(r"\\u00[01][0-9a-f]")


class Named(NamedTuple):
    """A reference to a named type by its full name."""

    full_name: str


class AvroTree(NamedTuple):
    """A schema and the types that it may refer to.

    :param referenced: the names that the referenced schemas define.
    """

    root: Any
    types: Mapping[str, dict[str, Any]]
    referenced: frozenset[str]


def read(schema: Any, references: Iterable[Any], *, check: bool) -> AvroTree:
    """Parse a schema's JSON into a tree, after the schemas that it refers to.

    :param check: check names and defaults, as for a new schema; a stored schema may have invalid ones.
    :raises SchemaError: the JSON is not an Avro schema.
    """
    reader = _Reader(check=False)
    for reference in references:
        reader.parse(reference, None)
    referenced = frozenset(reader.types)
    reader.is_checked = check
    root = reader.parse(schema, None)
    reader.finish(root)
    return AvroTree(root, reader.types, referenced)


def written(tree: AvroTree, *, in_order: bool = False) -> Any:
    """The JSON of a schema without the referenced schemas.

    :param in_order: sort the properties that Avro does not define.
    """
    return _Writer(tree, tree.referenced, in_order=in_order).written(tree.root, None)


def resolved(tree: AvroTree) -> Any:
    """The JSON of a schema with all referenced schemas inlined."""
    return _Writer(tree, ()).written(tree.root, None)


def for_packages(tree: AvroTree) -> Any:
    """Like :func:`resolved`, for Python's Avro packages.

    Java looks up a short name in the enclosing namespace, then in the empty one, and writes names accordingly; the
    packages do not look in the empty one. So where a schema has types with and without a namespace, the latter get the
    namespace :data:`NO_NAMESPACE`, which :func:`without_marks` removes.
    """
    are_mixed = len({node["namespace"] is None for node in tree.types.values()}) > 1
    return _Writer(tree, (), none=NO_NAMESPACE if are_mixed else None).written(tree.root, None)


def without_marks(parsed: Any) -> Any:
    """Undo :func:`for_packages` in a package's result: restores the schema's names."""
    if isinstance(parsed, str):
        return parsed.removeprefix(f"{NO_NAMESPACE}.")
    if isinstance(parsed, list):
        return [without_marks(branch) for branch in parsed]
    made = {name: without_marks(one) if name in ("type", "items", "values") else one for name, one in parsed.items()}
    if "fields" in made:
        made["fields"] = [{**field, "type": without_marks(field["type"])} for field in made["fields"]]
    return made | ({"name": without_marks(made["name"])} if "name" in made else {})


def written_json(value: object) -> str:
    """JSON as Java's Avro writes it: without spaces, with numbers in Java's form."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{written_json(name)}:{written_json(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written_json, value)) + "]"
    if isinstance(value, float):
        return _java_double(value)
    return _ESCAPED.sub(lambda found: found[0][:-2] + found[0][-2:].upper(), json.dumps(value, ensure_ascii=False))


def _java_double(value: float) -> str:
    """A number as ``Double.toString`` writes it; values that JSON lacks are strings, as Jackson writes them."""
    text = repr(value)
    if not text.strip("-").startswith(tuple("0123456789")):
        return {"inf": '"Infinity"', "-inf": '"-Infinity"'}.get(text, '"NaN"')
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return text
    digits, _, exponent = f"{value:.17g}".partition("e")
    shortest = next(one for one in (f"{value:.{places}e}" for places in range(17)) if float(one) == value)
    digits, _, exponent = shortest.partition("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def load(text: str) -> Any:
    """A schema's JSON; the name of a primitive type may be given without quotation marks.

    :raises SchemaError: the text is not JSON.
    """
    bare = text.strip()
    if bare in PRIMITIVE:
        return bare
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise SchemaError("it is nested too deeply") from None
    except ValueError as error:
        raise SchemaError(f"its text is not JSON: {error}") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a value of JSON")


class _Reader:
    def __init__(self, *, check: bool) -> None:
        self.is_checked = check
        self.types: dict[str, dict[str, Any]] = {}
        self._defaults: list[tuple[str, Any, Any]] = []
        """The fields whose defaults are checked once all types are known."""
        self._unions: list[list[Any]] = []

    def parse(self, node: Any, space: str | None) -> Any:
        """Parse a type within its enclosing namespace."""
        if isinstance(node, str):
            return node if node in PRIMITIVE else self._found(node, space)
        if isinstance(node, list):
            union = [self.parse(branch, space) for branch in node]
            self._unions.append(union)
            return union
        if not isinstance(node, dict):
            raise SchemaError(f"a type is a name, an object or a list of types, not {_shown(node)}")
        kind = node.get("type")
        if kind is None:
            raise SchemaError(f"an object needs a type: {_shown(node)}")
        if not isinstance(kind, str):
            return self.parse(kind, space)
        if kind in NAMED:
            return self._named(kind, node, space)
        if kind in ("array", "map"):
            content = "items" if kind == "array" else "values"
            if content not in node:
                raise SchemaError(f"a type {kind} needs {content}: {_shown(node)}")
            return {"type": kind, content: self.parse(node[content], space), **_rest(node, _RESERVED)}
        if kind in PRIMITIVE:
            return {"type": kind, **_rest(node, _RESERVED)}
        return self._found(kind, space)

    def _found(self, name: str, space: str | None) -> Named:
        """Look up a type by its name in this namespace, then in the empty one."""
        full = name if "." in name or not space else f"{space}.{name}"
        return Named(name if full not in self.types and name in self.types else full)

    def _named(self, kind: str, node: dict[str, Any], space: str | None) -> Named:
        name, own = self._name(node, space)
        full = f"{own}.{name}" if own else name
        made: dict[str, Any] = {"type": kind, "name": name, "namespace": own}
        if isinstance(node.get("doc"), str):
            made["doc"] = node["doc"]
        before = self.types.get(full)
        if before is None:
            self.types[full] = made
        reserved: tuple[str, ...] = _RESERVED
        if kind == "enum":
            made |= self._enum(full, node)
            reserved = (*_RESERVED, "default")
        elif kind == "fixed":
            size = node.get("size")
            if type(size) is not int or not 0 <= size <= _MAX_SIZE:
                raise SchemaError(
                    f"the size of the fixed type {full} is a whole number from 0 to {_MAX_SIZE}, not {_shown(size)}"
                )
            made["size"] = size
        else:
            made["fields"] = self._fields(full, node, own)
        made |= _rest(node, reserved)
        aliases = _aliases(node, full)
        if aliases:
            made["aliases"] = [
                one.removeprefix(f"{own}.") if own and one.rpartition(".")[0] == own else one for one in aliases
            ]
        if before is not None and _definition(before) != _definition(made):
            raise SchemaError(f"the type {full} is defined twice, and not in the same way")
        return Named(full)

    def _name(self, node: dict[str, Any], space: str | None) -> tuple[str, str | None]:
        """The simple name and the namespace: that of a full name takes precedence, then the ``namespace`` property,
        then the enclosing namespace.
        """
        given, own = node.get("name"), node.get("namespace")
        if not isinstance(given, str):
            raise SchemaError(f"a type {node['type']} needs a name: {_shown(node)}")
        before, dot, name = given.rpartition(".")
        self._check_name(name, f"the name of the type {given!r}")
        return name, (before if dot else own if isinstance(own, str) else space) or None

    def _check_name(self, name: str, what: str) -> None:
        if self.is_checked and not is_name(name):
            raise SchemaError(
                f"{what} must begin with a letter or '_' and consist of letters, digits and '_'"
                + (f", not {name!r}" if repr(name) not in what else "")
            )

    def _enum(self, full: str, node: dict[str, Any]) -> dict[str, Any]:
        symbols = node.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(one, str) for one in symbols):
            raise SchemaError(f"the enum {full} needs symbols, a list of strings")
        for symbol in symbols:
            self._check_name(symbol, f"the symbol {symbol!r} of the enum {full}")
        if len(set(symbols)) < len(symbols):
            raise SchemaError(f"a symbol of the enum {full} occurs twice")
        default = node.get("default")
        if not isinstance(default, str):
            return {"symbols": symbols}
        if default not in symbols:
            raise SchemaError(f"the default {default!r} of the enum {full} is not among its symbols")
        return {"symbols": symbols, "default": default}

    def _fields(self, full: str, node: dict[str, Any], space: str | None) -> list[dict[str, Any]]:
        fields = node.get("fields")
        if not isinstance(fields, list) or not all(isinstance(one, dict) for one in fields):
            raise SchemaError(f"the record {full} needs fields, a list of objects")
        made = [self._field(full, field, space) for field in fields]
        names = [field["name"] for field in made]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"the field {name} of the record {full} is defined twice")
        return made

    def _field(self, full: str, node: dict[str, Any], space: str | None) -> dict[str, Any]:
        name = node.get("name")
        if not isinstance(name, str) or "type" not in node:
            raise SchemaError(f"a field of the record {full} needs a name and a type: {_shown(node)}")
        self._check_name(name, f"the name of the field {name!r} of the record {full}")
        made: dict[str, Any] = {"name": name, "type": self.parse(node["type"], space)}
        if isinstance(node.get("doc"), str):
            made["doc"] = node["doc"]
        if "default" in node:
            made["default"] = _default_number(made["type"], node["default"], f"{full}.{name}")
            if self.is_checked:
                self._defaults.append((f"{full}.{name}", made["type"], made["default"]))
        order = node.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise SchemaError(
                f"the order of the field {full}.{name} is one of {', '.join(_ORDERS)}, not {_shown(order)}"
            )
        if order.lower() != "ascending":
            made["order"] = order.lower()
        aliases = _aliases(node, f"{full}.{name}")
        if aliases:
            made["aliases"] = aliases
        return made | _rest(node, _FIELD_RESERVED)

    # --- what needs all types

    def finish(self, root: Any) -> None:
        """Check the schema once it is parsed.

        :raises SchemaError: a type is not defined, a union is invalid, or a default does not fit.
        """
        waiting = [root, *self.types.values()]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Named) and node.full_name not in self.types:
                raise SchemaError(
                    f"the type {node.full_name} is not defined: define it here, or register it and refer to it "
                    "(references; --reference of the command)"
                )
            waiting += _inner(node)
        for union in self._unions:
            _check_union(union, self.types)
        for where, kind, value in self._defaults:
            if not fits(kind, value, self.types):
                raise SchemaError(f"the default of the field {where} is {_shown(value)}, which does not fit its type")


def _inner(node: Any) -> list[Any]:
    if isinstance(node, list):
        return list(node)
    if not isinstance(node, dict):
        return []
    return [field["type"] for field in node.get("fields", ())] + [
        node[content] for content in ("items", "values") if content in node and node["type"] in ("array", "map")
    ]


def _check_union(union: list[Any], types: Mapping[str, Any]) -> None:
    met = set()
    for branch in union:
        if isinstance(branch, list):
            raise SchemaError("a union may not stand directly in a union")
        kind = branch.full_name if isinstance(branch, Named) else branch["type"] if isinstance(branch, dict) else branch
        if kind in met:
            raise SchemaError(f"a union has the type {kind} twice")
        met.add(kind)


def is_name(name: str) -> bool:
    """Whether Java's Avro accepts this as a simple name (``NameValidator.UTF_VALIDATOR``)."""
    return (
        bool(name)
        and (name[0] == "_" or _is_letter(name[0]))
        and all(one == "_" or _is_letter(one) or unicodedata.category(one) == "Nd" for one in name)
        and all(ord(one) <= 0xFFFF for one in name)
    )


def _is_letter(one: str) -> bool:
    return unicodedata.category(one).startswith("L")


def fits(kind: Any, value: Any, types: Mapping[str, Any]) -> bool:
    """Whether a default fits its type, as in ``Schema.isValidDefault``."""
    if isinstance(kind, list):
        return any(fits(branch, value, types) for branch in kind)
    if isinstance(kind, Named):
        kind = types[kind.full_name]
    name = kind if isinstance(kind, str) else kind["type"]
    if name == "array":
        return isinstance(value, list) and all(fits(kind["items"], one, types) for one in value)
    if name == "map":
        return isinstance(value, dict) and all(fits(kind["values"], one, types) for one in value.values())
    if name in ("record", "error"):
        return isinstance(value, dict) and all(
            fits(field["type"], value[field["name"]], types) if field["name"] in value else "default" in field
            for field in kind["fields"]
        )
    return _FITS[name](value)


def _is_whole(value: Any, most: int) -> bool:
    return type(value) is int and -most - 1 <= value <= most


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "int": lambda value: _is_whole(value, 2**31 - 1),
    "long": lambda value: _is_whole(value, _MAX_LONG),
    "float": _is_number,
    "double": _is_number,
    **dict.fromkeys(("bytes", "string", "enum", "fixed"), lambda value: isinstance(value, str)),
}


def _default_number(kind: Any, value: Any, where: str) -> Any:
    """A field's default: a string for a floating-point type, such as ``NaN`` or ``Infinity``, becomes a number.

    :raises SchemaError: the string is not a number.
    """
    name = kind["type"] if isinstance(kind, dict) else kind
    if name not in ("float", "double") or not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        raise SchemaError(f"the default of the field {where} is {_shown(value)}, which is not a number") from None


def _aliases(node: dict[str, Any], what: str) -> list[str]:
    aliases = node.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(one, str) for one in aliases):
        raise SchemaError(f"the aliases of {what} must be a list of strings, not {_shown(aliases)}")
    return list(dict.fromkeys(aliases))


def _rest(node: dict[str, Any], reserved: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name not in reserved}


def _definition(made: Any) -> Any:
    """The parts of a type that must be equal if it is defined twice; documentation and aliases may differ."""
    kept = {name: value for name, value in made.items() if name not in ("doc", "aliases")}
    if "fields" in kept:
        kept["fields"] = [_definition(field) for field in kept["fields"]]
    return kept


def _shown(value: object) -> str:
    return written_json(value)[:200]


# --- writing


class _Writer:
    """Writes a tree as Java's Avro does, with properties in Java's order. A named type is written in full at its first
    use. Later uses, and the types in ``known``, are written by name, without the namespace if it is the enclosing one.
    """

    def __init__(
        self, tree: AvroTree, known: Iterable[str], *, in_order: bool = False, none: str | None = None
    ) -> None:
        self._types = tree.types
        self._none = none
        self._known = set(known)
        self._in_order = in_order

    def written(self, node: Any, space: str | None) -> Any:
        if isinstance(node, str):
            return node
        if isinstance(node, list):
            return [self.written(branch, space) for branch in node]
        if isinstance(node, Named):
            return self._named(node.full_name, space)
        kind = node["type"]
        content = {"array": "items", "map": "values"}.get(kind)
        if content is None:
            return {"type": kind, **self._rest(node, ("type",))} if len(node) > 1 else kind
        written = {"type": kind, content: self.written(node[content], space)}
        return written | self._rest(node, ("type", content))

    def _named(self, full: str, space: str | None) -> Any:
        node = self._types[full]
        own: str | None = node["namespace"] or self._none
        if full in self._known:
            whole = f"{own}.{node['name']}" if own else full
            return node["name"] if own == space and node["name"] not in _TYPE_NAMES else whole
        self._known.add(full)
        written = {"type": node["type"], "name": node["name"]}
        if own != space:
            written["namespace"] = own or ""
        if "doc" in node:
            written["doc"] = node["doc"]
        for name in _AFTER_NAME:
            if name in node:
                written[name] = [self._field(one, own) for one in node[name]] if name == "fields" else node[name]
        written |= self._rest(node, ("type", "name", "namespace", "doc", "aliases", *_AFTER_NAME))
        return written | ({"aliases": node["aliases"]} if "aliases" in node else {})

    def _field(self, field: dict[str, Any], space: str | None) -> dict[str, Any]:
        written = {"name": field["name"], "type": self.written(field["type"], space)}
        known = ("doc", "default", "order", "aliases")
        written |= {name: field[name] for name in known if name in field}
        return written | self._rest(field, ("name", "type", *known))

    def _rest(self, node: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
        rest = [name for name in node if name not in known]
        return {name: node[name] for name in (sorted(rest) if self._in_order else rest)}
