"""Avro schemas: parsed and written by ``schemas.avro_tree`` as by Java's Avro, and compared by the ``avro`` package.

Fields of the JSON are in Java's order, because Confluent's registry finds a schema by its text, and a topic may move
between registries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import avro.schema
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.errors import AvroException
from avro.name import Names

from oncelog.schema_registry.formats.parsed import Dependency, check_depth
from oncelog.schema_registry.rest_errors import InvalidSchema
from oncelog.schemas.avro_tree import NO_NAMESPACE, for_packages, load, read, resolved, written, written_json
from oncelog.schemas.schema_errors import SchemaError

_NOT_A_SCHEMA = (AvroException, ValueError, TypeError, AttributeError, KeyError, RecursionError)
RESOLVED = "resolved"


class _Compared(dict[Any, Any]):
    """The pairs of schemas that were already compared, by ``id()``: the ``avro`` package hashes its own keys so poorly
    that comparing two unions of 1,000 branches takes a minute."""

    def __contains__(self, pair: Any) -> bool:
        return super().__contains__((id(pair.reader), id(pair.writer)))

    def __getitem__(self, pair: Any) -> Any:
        return super().__getitem__((id(pair.reader), id(pair.writer)))

    def __setitem__(self, pair: Any, found: Any) -> None:
        super().__setitem__((id(pair.reader), id(pair.writer)), found)


class AvroSchema:
    """A parsed schema; made by :func:`parse`."""

    def __init__(self, schema: Any, references: Sequence[Any]) -> None:
        self._references = references
        self._tree = read(schema, references, check=False)
        self._written = written(self._tree)
        self.text = written_json(self._written)

    @cached_property
    def _resolved(self) -> Any:
        """The schema with all referenced schemas inlined."""
        return resolved(self._tree)

    @cached_property
    def _schema(self) -> Any:
        names = Names(validate_names=False)
        plain = _for_package(for_packages(self._tree))
        return avro.schema.make_avsc_object(plain, names, validate_enum_symbols=False, validate_names=False)

    @cached_property
    def _normalized(self) -> str:
        return written_json(written(self._tree, in_order=True))

    def check_new(self) -> None:
        with _not_avro():
            read(self._written, self._references, check=True)
            try:
                self._schema  # noqa: B018 -- the package that compares schemas reads it here
            except _NOT_A_SCHEMA as error:
                raise InvalidSchema(_unmarked(_reason(error))) from error

    def normalized(self) -> str:
        return self._normalized

    def formatted(self, form: str) -> str:
        if form == RESOLVED:
            return written_json(self._resolved)
        raise InvalidSchema(f"Avro has no format {form!r}, only {RESOLVED}")

    def problems_reading(self, writer: AvroSchema) -> list[str]:
        try:
            checker = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]
            checker.memoize_map = _Compared()
            found = checker.get_compatibility(self._schema, writer._schema)
        except RecursionError:
            return ["{errorType:'TOO_DEEP', description:'the schemas are nested too deeply to be compared'}"]
        except _NOT_A_SCHEMA as error:  # a stored schema that no registry would accept today
            return [f"{{errorType:'SCHEMA_NOT_COMPARED', description:'{_reason(error)}'}}"]
        if found.compatibility is SchemaCompatibilityType.compatible:
            return []
        kinds = sorted({kind.name.upper() for kind in found.incompatibilities}) or ["INCOMPATIBLE"]
        where, what = ", ".join(sorted(found.locations)), _unmarked(", ".join(sorted(found.messages)))
        return [f"{{errorType:'{kind}', description:'at {where}: {what}'}}" for kind in kinds]


def parse(text: str, dependencies: Sequence[Dependency]) -> AvroSchema:
    """Parse an Avro schema.

    :raises InvalidSchema: the text is not an Avro schema.
    """
    with _not_avro():
        loaded = [load(one) for one in (text, *(dependency.text for dependency in dependencies))]
        for one in loaded:
            check_depth(one)
        return AvroSchema(loaded[0], loaded[1:])


@contextmanager
def _not_avro() -> Iterator[None]:
    try:
        yield
    except (InvalidSchema, SchemaError, RecursionError) as error:
        raise InvalidSchema(f"this is not an Avro schema: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:500] or type(error).__name__


_NAMED = ("record", "error", "enum", "fixed")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MARK = "Symbol_0x"
_MARKED = re.compile(_MARK + "((?:[0-9a-f]{2})+)")


def _for_package(node: Any, space: str = "") -> Any:
    """A schema in the form that the ``avro`` package accepts: without logical types, which do not matter in comparisons
    (the package warns about unknown ones), with ASCII symbols only, and with the full names of aliases."""
    if isinstance(node, list):
        return [_for_package(one, space) for one in node]
    if not isinstance(node, dict):
        return node
    own = node.get("namespace", space) if node.get("type") in _NAMED else space
    made = {name: _for_package(one, own) for name, one in node.items() if name != "logicalType"}
    if node.get("type") == "error":  # Avro's type "error" is a record, but the avro package does not compare errors
        made["type"] = "record"
    if node.get("type") in _NAMED and own and isinstance(node.get("aliases"), list):
        made["aliases"] = [alias if "." in alias else f"{own}.{alias}" for alias in node["aliases"]]
    if node.get("type") == "enum" and isinstance(node.get("symbols"), list):
        made["symbols"] = [_marked(symbol) for symbol in node["symbols"]]
        made |= {"default": _marked(node["default"])} if "default" in node else {}
    return made


def _marked(symbol: str) -> str:
    return symbol if _SYMBOL.fullmatch(symbol) else _MARK + symbol.encode(errors="surrogatepass").hex()


def _unmarked(text: str) -> str:
    text = text.replace(f"{NO_NAMESPACE}.", "")
    return _MARKED.sub(lambda found: bytes.fromhex(found[1]).decode(errors="replace"), text)
