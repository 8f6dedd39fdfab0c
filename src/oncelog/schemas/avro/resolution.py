"""Avro's schema resolution as in Java: how a writer's values are read with a reader's schema. Pure.

:func:`resolve` makes a plan that all readers follow: :mod:`oncelog.schemas.avro.values` for Python values,
    :mod:`oncelog.schemas.arrow.resolution` for columns. A part that cannot be resolved gets a plan that fails with the
    reason, so a record fails only if it contains such a value. In contrast to Java, no value is altered: times in other
    units are converted, decimal numbers of another scale are refused, and a default is not truncated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from oncelog.schemas.avro.defaults import default_bytes
from oncelog.schemas.avro.types import NamedTypes, last_name, logical_type
from oncelog.schemas.schema_errors import SchemaMismatch, inside

MAX_PARTS = 100_000
"""The maximum number of parts of a pair of schemas: a few lines of schema can double them repeatedly."""
_RECORDS = ("record", "error")
_WIDER = {
    "int": ("int", "long", "float", "double"),
    "long": ("long", "float", "double"),
    "float": ("float", "double"),
    "string": ("string", "bytes"),
    "bytes": ("bytes", "string"),
}
"""For each type, the types as which a reader may read it, itself first."""


class PlanKind(Enum):
    PLAIN = auto()
    """A primitive value."""
    REST = auto()
    """All remaining bytes: serializers write a payload of type bytes without its length."""
    ARRAY = auto()
    MAP = auto()
    RECORD = auto()
    """``parts``: one for each field that was written, then one for each field that only the reader has; ``extra``: for
    each part, the position of its field in the reader's record, or None if the field is skipped."""
    UNION = auto()
    """The writer's type is a union; ``parts``: one for each of its types."""
    MEMBER = auto()
    """The reader's type is a union; ``extra``: the index of the value's type in it."""
    DEFAULT = auto()
    """The writer lacks the field; ``extra``: the encoded default, which is read instead."""
    SKIP = auto()
    """A value that is not read; ``parts``: one for each value in it."""
    FAIL = auto()
    """The value cannot be read; ``extra``: why."""


@dataclass(eq=False, slots=True)
class ReadPlan:
    """How one value is read. The plan of a recursive type is recursive."""

    kind: PlanKind
    writer: Any = None
    reader: Any = None
    parts: list[ReadPlan] = field(default_factory=list)
    extra: Any = None


def resolve(writer: NamedTypes, reader: NamedTypes, *, is_payload: bool = True) -> ReadPlan:
    """The plan for reading values of ``writer`` with ``reader``.

    :param is_payload: whether these are the schemas of whole payloads, and not of parts of them.
    :raises SchemaMismatch: the schemas together are too large.
    """
    found = _Resolution(writer, reader).resolve(writer.root, reader.root, "")
    root = writer.known(writer.root)
    return _rest(found) if is_payload and isinstance(root, dict) and root["type"] == "bytes" else found


def _rest(plan: ReadPlan) -> ReadPlan:
    if plan.kind is PlanKind.MEMBER:
        return ReadPlan(PlanKind.MEMBER, plan.writer, plan.reader, [_rest(plan.parts[0])], plan.extra)
    if plan.kind is PlanKind.PLAIN and plan.reader["type"] in ("bytes", "string") and logical_type(plan.reader) is None:
        return ReadPlan(PlanKind.REST, plan.writer, plan.reader)
    why = "a value that is nothing but bytes is read as bytes or as a text alone"
    return ReadPlan(PlanKind.FAIL, plan.writer, plan.reader, extra=why)


class _Resolution:
    def __init__(self, writer: NamedTypes, reader: NamedTypes) -> None:
        self._writer = writer
        self._reader = reader
        self._records: dict[tuple[int, int], ReadPlan] = {}
        self._skipped: dict[int, ReadPlan] = {}
        self._count = 0

    def resolve(self, written: Any, read: Any, where: str) -> ReadPlan:
        self._counted()
        writer, reader = self._writer.known(written), self._reader.known(read)
        if isinstance(writer, list):
            parts = [self.resolve(branch, read, where) for branch in writer]
            return ReadPlan(PlanKind.UNION, writer, reader, parts)
        if isinstance(reader, list):
            return self._into_union(writer, reader, where)
        kind = writer["type"]
        if kind in _RECORDS and reader["type"] in _RECORDS:
            return self._record(writer, reader, where)
        if kind == reader["type"] == "array":
            item = self.resolve(writer["items"], reader["items"], f"{where}[]")
            return ReadPlan(PlanKind.ARRAY, writer, reader, [item])
        if kind == reader["type"] == "map":
            value = self.resolve(writer["values"], reader["values"], f"{where}{{}}")
            return ReadPlan(PlanKind.MAP, writer, reader, [value])
        return ReadPlan(PlanKind.PLAIN, writer, reader) if _takes(writer, reader) else _unfit(writer, reader, where)

    def _counted(self) -> None:
        self._count += 1
        if self._count > MAX_PARTS:
            raise SchemaMismatch("the writer's and the reader's schema together are too large")

    def _skip(self, schema: Any) -> ReadPlan:
        known = self._writer.known(schema)
        found = self._skipped.get(id(known)) if isinstance(known, dict) and "name" in known else None
        if found is None:
            self._counted()
            self._skipped[id(known)] = found = ReadPlan(PlanKind.SKIP, known)
            if isinstance(known, list):
                inner = known
            else:
                inner = [known[name] for name in ("items", "values") if name in known]
                inner += [one["type"] for one in known.get("fields", ())]
            found.parts.extend(self._skip(one) for one in inner)
        return found

    def _record(self, writer: Any, reader: Any, where: str) -> ReadPlan:
        """Resolve two records. Their names are compared without namespaces, as the specification requires and Java does
        not: otherwise a record of another name could be read as all defaults."""
        if not _is_named_alike(writer, reader):
            return _unfit(writer, reader, where)
        found = self._records.get((id(writer), id(reader)))
        if found is None:
            self._records[id(writer), id(reader)] = found = ReadPlan(PlanKind.RECORD, writer, reader, extra=[])
            self._fill(found, where)
        return found

    def _fill(self, plan: ReadPlan, where: str) -> None:
        positions = _positions(plan.reader)
        found = set()
        for one in plan.writer["fields"]:
            position = positions.get(one["name"])
            if position is None or position in found:
                plan.parts.append(self._skip(one["type"]))
                plan.extra.append(None)
                continue
            found.add(position)
            read = plan.reader["fields"][position]
            plan.parts.append(self.resolve(one["type"], read["type"], inside(where, read["name"])))
            plan.extra.append(position)
        for position, read in enumerate(plan.reader["fields"]):
            if position not in found:
                plan.parts.append(self._default(read, inside(where, read["name"])))
                plan.extra.append(position)

    def _default(self, read: Any, where: str) -> ReadPlan:
        """The plan for a field that was not written: its default, or an error if it has none."""
        if "default" not in read:
            why = f"{where} was not written, and has no default in the reader's schema"
            return ReadPlan(PlanKind.FAIL, extra=why)
        try:
            written = default_bytes(self._reader, read, where)
        except SchemaMismatch as error:
            return ReadPlan(PlanKind.FAIL, extra=str(error))
        plan = _Resolution(self._reader, self._reader).resolve(read["type"], read["type"], where)
        return ReadPlan(PlanKind.DEFAULT, reader=plan.reader, parts=[plan], extra=written)

    def _into_union(self, writer: Any, branches: list[Any], where: str) -> ReadPlan:
        """The plan of a value that is not a union, read into a union: into the type that Java chooses."""
        index = self._branch(writer, [self._reader.known(branch) for branch in branches], where)
        if index is None:
            return _unfit(writer, {"type": "union"}, where)
        return ReadPlan(PlanKind.MEMBER, writer, branches, [self.resolve(writer, branches[index], where)], index)

    def _branch(self, writer: Any, branches: list[Any], where: str) -> int | None:
        """The index of the union's type that a value is read as: the same type, or else a wider one. Source:
        ``ReaderUnion.firstMatchingBranch`` of Java's ``Resolver``."""
        kind, alike = writer["type"], None
        for index, branch in enumerate(branches):
            if kind != branch["type"] and not (kind in _RECORDS and branch["type"] in _RECORDS):
                continue
            if "name" not in writer or writer["name"] in _names(branch):
                return index
            if kind not in _RECORDS:
                alike = index if alike is None and _takes(writer, branch) else alike
            elif alike is None and _is_named_alike(writer, branch):
                fields = self.resolve(writer, branch, where).parts
                alike = None if any(one.kind is PlanKind.FAIL for one in fields) else index
        if alike is not None:
            return alike
        return next((i for i, branch in enumerate(branches) if _takes(writer, branch)), None)


def _positions(reader: Any) -> dict[str, int]:
    """The positions of the reader's fields by name and alias."""
    positions = {one["name"]: i for i, one in enumerate(reader["fields"])}
    for i, one in enumerate(reader["fields"]):
        for alias in one.get("aliases", ()):
            positions.setdefault(alias, i)
    return positions


def _names(known: Any) -> list[str]:
    """The full name and aliases of a named type."""
    space = known["name"].rpartition(".")[0]
    aliases = [one if "." in one or not space else f"{space}.{one}" for one in known.get("aliases", ())]
    return [known["name"], *aliases]


def _is_named_alike(writer: Any, reader: Any) -> bool:
    return last_name(writer["name"]) in map(last_name, _names(reader))


def _takes(writer: Any, reader: Any) -> bool:
    """Whether a primitive type can be read as another one."""
    wrote, reads = writer["type"], reader["type"]
    if "decimal" in (logical_type(writer), logical_type(reader)):
        return _takes_decimal(writer, reader)
    if reads in _WIDER.get(wrote, ()):
        return True
    if wrote != reads or wrote in ("record", "error", "array", "map"):
        return False
    if wrote in ("enum", "fixed"):
        return _is_named_alike(writer, reader) and (wrote == "enum" or writer["size"] == reader["size"])
    return True


def _takes_decimal(writer: Any, reader: Any) -> bool:
    """Whether two types are decimals of the same scale, or a decimal and its underlying bytes."""
    if logical_type(writer) == logical_type(reader):
        return bool(writer.get("scale", 0) == reader.get("scale", 0))
    return bool(writer["type"] == reader["type"] and writer.get("size") == reader.get("size"))


def _unfit(writer: Any, reader: Any, where: str) -> ReadPlan:
    place = f"{where} was written as" if where else "it was written as"
    why = f"{place} {_shown(writer)}, which cannot be read as {_shown(reader)}"
    return ReadPlan(PlanKind.FAIL, writer, reader, extra=why)


def _shown(known: Any) -> str:
    logical = known.get("logicalType")
    named = f" {known['name']}" if "name" in known else ""
    size = f" of {known['size']} bytes" if "size" in known else ""
    scale = f" of scale {known.get('scale', 0)}" if logical == "decimal" else ""
    return f"{known['type']}{named}{size}" + (f" ({logical}{scale})" if logical else "")
