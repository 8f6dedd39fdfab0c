"""Checks whether every document that is valid for one JSON Schema is valid for another one. Called by ``json_schema``.

Confluent's rules for JSON Schema amount to this check. A property that is added to an open object is refused, because a
document may already have it with any value. A property that is added to a closed object is accepted, unless it is
required without a default. If a case cannot be decided, such as two different patterns, the schema is refused, and the
message says so. Two checks are only as strict as Confluent's: a default makes up for a required property, and one
branch of ``oneOf`` must accept a document, while nothing is proven about the other branches.

Both schemas are traversed together. A pair that recurs inside itself counts as compared, so recursive schemas
terminate. The work is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from jsonschema import validators
from referencing import Resource, Specification

from oncelog.runtime import real_json as json
from oncelog.schemas.json_schema.ecma_patterns import SlowPattern, UncheckedPattern, is_found
from oncelog.schemas.json_schema.patterns import REFERENCES, with_patterns

MAX_COMPARISONS = 50_000
MAX_REFERENCES = 100
"""The maximum length of a chain of references."""
TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
COMBINED = ("allOf", "anyOf", "oneOf")
_OPEN: Mapping[str, Any] = {}
_NOT_COMPARED = ("if", "then", "else", "$dynamicRef", "$recursiveRef")
"""Keywords that are not compared: each must be the same in both schemas, or missing in the reader's."""
_ANNOTATIONS = frozenset(
    {
        "$anchor", "$comment", "$defs", "$id", "$schema", "$vocabulary", "contentEncoding", "contentMediaType",
        "default", "definitions", "deprecated", "description", "examples", "format", "id", "readOnly", "title",
        "writeOnly",
    }
)  # fmt: skip
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


_VALIDATORS = {
    specification: with_patterns(kind)
    for specification, kind in {
        "draft2020-12": validators.Draft202012Validator,
        "draft2019-09": validators.Draft201909Validator,
        "draft-07": validators.Draft7Validator,
        "draft-06": validators.Draft6Validator,
        "draft-04": validators.Draft4Validator,
        "draft-03": validators.Draft3Validator,
    }.items()
}
_ADDED = {
    True: "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
    False: "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
}
_REMOVED = {
    True: "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
    False: "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
}


class Problem(NamedTuple):
    """An incompatibility: something that the writer allows and the reader refuses."""

    kind: str
    path: str
    text: str

    def shown(self) -> str:
        return f"{{errorType:'{self.kind}', description:'at {self.path or '/'}: {self.text}'}}"


class ReferenceResolver(Protocol):
    """Resolves the references at one place in a schema. A protocol, because the class of the resolvers of
    ``referencing.Registry`` is not public."""

    def lookup(self, ref: str) -> Any:
        """Look up a reference. The result's ``contents`` is the schema, its ``resolver`` resolves the references in
        that schema.

        :raises Unresolvable: the reference names nothing.
        """

    def in_subresource(self, subresource: Resource[Any]) -> ReferenceResolver:
        """The resolver for a part of the schema, which may have an ``$id`` of its own."""


class JsonSchemaNode(NamedTuple):
    """A schema, or a part of one, with the resolver of its references."""

    schema: Any
    resolver: ReferenceResolver
    specification: Specification[Any]

    def inner(self, schema: Any) -> JsonSchemaNode:
        if not isinstance(schema, Mapping):  # schema true or false, in which draft 4 cannot look for an id
            return JsonSchemaNode(schema, self.resolver, self.specification)
        resource = self.specification.create_resource(schema)
        return JsonSchemaNode(schema, self.resolver.in_subresource(resource), self.specification)

    def get(self, name: str, default: Any = None) -> Any:
        return self.schema.get(name, default) if isinstance(self.schema, Mapping) else default

    def at(self, name: str, default: Any = True) -> JsonSchemaNode:
        """The schema that is the value of a keyword."""
        return self.inner(self.get(name, default))

    @property
    def reference(self) -> str | None:
        """The value of ``$ref``; None if the schema has none."""
        found = self.get("$ref")
        return found if isinstance(found, str) else None

    def without(self, names: Sequence[str]) -> dict[str, Any]:
        """The schema's keywords except these."""
        return {name: value for name, value in self.schema.items() if name not in names}

    @property
    def is_open(self) -> bool:
        """Whether the schema accepts every document."""
        if isinstance(self.schema, Mapping):
            return all(name in _ANNOTATIONS for name in self.schema)
        return self.schema is True

    @property
    def types(self) -> frozenset[str]:
        """The types that the schema allows; a schema that allows ``number`` allows ``integer``, too."""
        named = self.get("type")
        if named is None:
            return frozenset(TYPES)
        found = {named} if isinstance(named, str) else set(named)
        return frozenset(found | ({"integer"} if "number" in found else set()))

    @property
    def values(self) -> list[Any] | None:
        """The values that the schema enumerates; None if it enumerates none."""
        if "const" in (self.schema if isinstance(self.schema, Mapping) else {}):
            return [self.schema["const"]]
        listed = self.get("enum")
        return listed if isinstance(listed, list) else None


class SchemasTooLarge(Exception):
    """The schemas are too large to compare."""


class Reading:
    """A comparison of two schemas, with the pairs that were already compared."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], None] = {}
        self._closed: dict[tuple[int, int], list[Problem]] = {}
        self._kept: list[Any] = []
        """Schemas that were compared. They are identified by ``id()``, so the objects must stay alive."""
        self._made: dict[tuple[int, str], Any] = {}
        """Schemas made from parts of others, cached by the ``id()`` of the other schema, so that a pair that recurs is
        recognised."""
        self._left = MAX_COMPARISONS

    def problems(self, reader: JsonSchemaNode, writer: JsonSchemaNode) -> list[str]:
        """Why a document that ``writer`` accepts may be refused by ``reader``."""
        try:
            return [one.shown() for one in self._compare(reader, writer, "")]
        except SchemasTooLarge:
            return ["{errorType:'TOO_LARGE', description:'the schemas are too large to be compared'}"]
        except SlowPattern as error:
            return [f"{{errorType:'PATTERN_TOO_SLOW', description:'{error}'}}"]

    def _resolved(self, node: JsonSchemaNode) -> JsonSchemaNode:
        """The schema that a reference points to. From draft 2019-09 on, a reference and the keywords beside it are
        combined as by ``allOf``."""
        for _ in range(MAX_REFERENCES):
            reference = node.reference
            if reference is None:
                return node
            rest = node.without(("$ref", *_ANNOTATIONS))
            if rest and any(year in node.specification.name for year in ("2019", "2020")):
                return self._part(node, "$ref", {"allOf": [{"$ref": reference}, rest]})
            found = node.resolver.lookup(reference)
            node = JsonSchemaNode(found.contents, found.resolver, node.specification)
        raise SchemasTooLarge

    def _part(self, node: JsonSchemaNode, what: str, schema: Any) -> JsonSchemaNode:
        """A node for ``schema``, which was made from a part of ``node``. Later calls return the same schema object."""
        self._kept.append(node.schema)
        return node.inner(self._made.setdefault((id(node.schema), what), schema))

    def _own(self, node: JsonSchemaNode, *, writes: bool) -> JsonSchemaNode:
        """The schema's own keywords, without those that combine schemas. ``unevaluated...`` keywords depend on the
        combined schemas: for a reader they apply to everything that its own keywords do not name, for a writer to
        nothing."""
        names = (*COMBINED, *_UNEVALUATED) if writes else COMBINED
        return self._part(node, "writes" if writes else "reads", node.without(names))

    def _compare(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        reader, writer = self._resolved(reader), self._resolved(writer)
        if reader.is_open or writer.schema is False:
            return []
        if writer.schema is True:
            writer = writer.inner(_OPEN)
        key = id(reader.schema), id(writer.schema)
        if key in self._open:
            return []
        known = self._closed.get(key)
        if known is not None:
            return known
        self._left -= 1
        if self._left < 0:
            raise SchemasTooLarge
        self._kept += (reader.schema, writer.schema)
        self._open[key] = None
        try:
            found = self._compared(reader, writer, path)
        finally:
            del self._open[key]
        if found and _is_same(reader.schema, writer.schema):
            found = []  # the comparison of combined schemas is not exact: it may refuse schemas that cannot differ
        if not self._open or found:
            self._closed[key] = found
        return found

    def _compared(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        if reader.schema is False:
            return [Problem("SCHEMA_REMOVED", path, "nothing is allowed here any more")]
        if writer.values is not None:
            return self._values(reader, writer, path)
        parts = [name for name in COMBINED if writer.get(name)]
        if parts:
            return self._from_combined(reader, writer, path, parts)
        return self._to_combined(reader, writer, path)

    def _values(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        """Validate each value that the writer enumerates with the reader's schema; reports the refused values."""
        kind = _VALIDATORS[reader.specification.name]
        validator = kind(reader.schema, _resolver=reader.resolver)
        refused = [one for one in writer.values or [] if not validator.is_valid(one)]
        text = ", ".join(json.dumps(one)[:80] for one in refused[:5])
        return [Problem("ENUM_ARRAY_NARROWED", path, f"no longer allowed: {text}")] if refused else []

    def _from_combined(
        self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str, parts: list[str]
    ) -> list[Problem]:
        """Compare a writer that combines schemas. Its own keywords and each of its combinations all hold, so it is
        enough if the reader accepts one of them."""
        own = self._own(writer, writes=True)
        alike = self._same_combination(reader, writer, path, parts)
        if alike is not None:
            return alike
        found = self._compare(reader, own, path) if not own.is_open else None
        if found == []:
            return []
        for name in parts:
            branches = [writer.inner(one) for one in writer.get(name)]
            each = [self._compare(reader, branch, f"{path}/{name}/{at}") for at, branch in enumerate(branches)]
            if name == "allOf":
                if any(not one for one in each):
                    return []
                found = found or min(each, key=len, default=[])
            else:
                refused = [problem for one in each for problem in one]
                if not refused:
                    return []
                found = found or refused
        return found or []

    def _same_combination(
        self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str, parts: list[str]
    ) -> list[Problem] | None:
        """Compare two schemas that both combine schemas: the reader's own keywords with the writer's, and each branch
        of the reader with the writer's branches. Returns None if the reader combines no schemas."""
        theirs = [name for name in COMBINED if reader.get(name)]
        if not theirs:
            return None
        own = self._own(reader, writes=False)
        found = [] if own.is_open else self._compare(own, self._own(writer, writes=True), path)
        for name in theirs:
            branches = [reader.inner(one) for one in reader.get(name)]
            if name == "allOf":
                for at, branch in enumerate(branches):
                    found = found + self._compare(branch, writer, f"{path}/allOf/{at}")
            else:
                found = found + self._one_of(branches, writer, path, name, parts)
        return found

    def _one_of(
        self, branches: list[JsonSchemaNode], writer: JsonSchemaNode, path: str, name: str, parts: list[str]
    ) -> list[Problem]:
        """Check that one branch of the reader accepts the whole writer, or that each branch of the writer has a branch
        of the reader that accepts it."""
        if any(not self._compare(branch, writer, path) for branch in branches):
            return []
        for part in (part for part in parts if part != "allOf"):
            refused = [
                at
                for at, inner in enumerate(writer.get(part))
                if all(self._compare(branch, writer.inner(inner), path) for branch in branches)
            ]
            if not refused:
                return []
            text = f"no branch of {name} accepts branch {', '.join(map(str, refused[:10]))} of {part}"
            return [Problem("COMBINED_TYPE_SUBSCHEMAS_CHANGED", f"{path}/{name}", text)]
        text = f"no branch of {name} accepts everything that was allowed"
        return [Problem("COMBINED_TYPE_SUBSCHEMAS_CHANGED", f"{path}/{name}", text)]

    def _to_combined(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        """Compare a writer that combines no schemas: it must fit the reader's own keywords, every branch of ``allOf``,
        and one branch each of ``anyOf`` and ``oneOf``."""
        found: list[Problem] = []
        for name in (name for name in COMBINED if reader.get(name)):
            branches = [reader.inner(one) for one in reader.get(name)]
            if name == "allOf":
                for at, branch in enumerate(branches):
                    found += self._compare(branch, writer, f"{path}/allOf/{at}")
            elif all(self._compare(branch, writer, path) for branch in branches):
                found += self._by_types(branches, writer, path, name)
        return found + self._keywords(reader, writer, path)

    def _by_types(self, branches: list[JsonSchemaNode], writer: JsonSchemaNode, path: str, name: str) -> list[Problem]:
        """Compare a writer that allows several types, type by type, with the branches of a reader that each allow
        fewer."""
        types = sorted(writer.types)
        if writer.get("type") is not None and len(types) > 1:
            alone = [self._part(writer, one, {**writer.schema, "type": one}) for one in types]
            if all(any(not self._compare(branch, one, path) for branch in branches) for one in alone):
                return []
        text = f"no branch of {name} accepts everything that was allowed"
        return [Problem("COMBINED_TYPE_SUBSCHEMAS_CHANGED", f"{path}/{name}", text)]

    # --- keywords

    def _keywords(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        found = list(_types(reader, writer, path))
        if reader.values is not None:
            found.append(Problem("ENUM_ARRAY_CHANGED", path, "only listed values are allowed now"))
        if found:
            return found
        shared = reader.types & writer.types
        found += _not_compared(reader, writer, path)
        found += self._not(reader, writer, path)
        if shared & {"number", "integer"}:
            found += _numbers(reader, writer, path)
        if "string" in shared:
            found += _strings(reader, writer, path)
        if "object" in shared:
            found += self._objects(reader, writer, path)
        if "array" in shared:
            found += self._arrays(reader, writer, path)
        return found

    def _not(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        if "not" not in reader.schema:
            return []
        if "not" in writer.schema and not self._compare(writer.at("not"), reader.at("not"), f"{path}/not"):
            return []
        return [Problem("NOT_TYPE_EXTENDED", f"{path}/not", "more is excluded than before, or this cannot be decided")]

    def _objects(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        found = _bounds(reader, writer, path, ("maxProperties",), ("minProperties",))
        ours, theirs = reader.get("properties", _OPEN), writer.get("properties", _OPEN)
        for name in sorted({*ours, *theirs}):
            where = f"{path}/properties/{name}"
            for kind, inner, before in self._property(name, ours, theirs, reader, writer):
                problems = self._compare_to_one(inner, before, where)
                found += [Problem(kind, where, problems[0].text), *problems][: 2 if kind else 0] if problems else []
        found += self._patterns(reader, writer, path)
        rest = self._compare(_rest(reader), _rest(writer), path)
        if rest:
            found.append(Problem("ADDITIONAL_PROPERTIES_NARROWED", f"{path}/additionalProperties", rest[0].text))
        found += _required(reader, writer, path)
        found += self._dependencies(reader, writer, path)
        if "propertyNames" in reader.schema:
            found += self._compare(reader.at("propertyNames"), writer.at("propertyNames"), f"{path}/propertyNames")
        return found

    def _property(
        self,
        name: str,
        ours: Mapping[str, Any],
        theirs: Mapping[str, Any],
        reader: JsonSchemaNode,
        writer: JsonSchemaNode,
    ) -> Iterator[tuple[str, JsonSchemaNode, list[JsonSchemaNode]]]:
        """For each of the reader's schemas that apply to a property: the kind of the problem, the reader's schema, and
        the writer's schemas that all hold for the property. On a side that does not name the property, its matching
        patterns apply, or its additional properties."""
        matching, unknown = _matching(writer, name)
        if name in ours and name in theirs:
            yield "PROPERTY_CHANGED", reader.inner(ours[name]), [writer.inner(theirs[name]), *matching]
        elif name in ours:
            inner = reader.inner(ours[name])
            for before in [matching] if matching else [[one] for one in (_rest(writer), *unknown)]:
                yield _ADDED[before[0].is_open], inner, before
        else:
            accepting, perhaps = _matching(reader, name)
            for inner in (*accepting, *perhaps, *([] if accepting else [_rest(reader)])):
                yield _REMOVED[inner.schema is False], inner, [writer.inner(theirs[name]), *matching]

    def _compare_to_one(self, reader: JsonSchemaNode, writers: Sequence[JsonSchemaNode], path: str) -> list[Problem]:
        """Compare the reader with schemas that all hold: no problems if the reader accepts one of them, else the
        problems of the first."""
        found = [self._compare(reader, one, path) for one in writers]
        return found[0] if all(found) else []

    def _patterns(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        """Compare the schemas of patterns. One that only the reader has must accept every property that the writer
        allows under a matching name."""
        found: list[Problem] = []
        ours, theirs = _patterns_of(reader), _patterns_of(writer)
        for pattern, inner in ours.items():
            named = [
                one for name, one in writer.get("properties", _OPEN).items() if _matches(pattern, name) is not False
            ]
            others = [_rest(writer), *theirs.values(), *map(writer.inner, named)]
            before = [theirs[pattern]] if pattern in theirs else others
            for one in before:
                found += self._compare(inner, one, f"{path}/patternProperties/{pattern}")
        rest = _rest(reader)
        for pattern, before_ in theirs.items():
            if pattern not in ours:
                found += self._compare(rest, before_, f"{path}/patternProperties/{pattern}")
        return found

    def _dependencies(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        found: list[Problem] = []
        for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
            theirs = writer.get(keyword, _OPEN)
            for name, wanted in reader.get(keyword, _OPEN).items():
                before = theirs.get(name)
                where = f"{path}/{keyword}/{name}"
                if isinstance(wanted, list):
                    if not isinstance(before, list) or not set(wanted) <= set(before):
                        found.append(Problem("DEPENDENCY_ARRAY_EXTENDED", where, "more is required than before"))
                elif before is None or isinstance(before, list):
                    found.append(Problem("DEPENDENCY_SCHEMA_ADDED", where, "it is new"))
                else:
                    found += self._compare(reader.inner(wanted), writer.inner(before), where)
        return found

    def _arrays(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        found = _bounds(reader, writer, path, ("maxItems",), ("minItems",))
        if reader.get("uniqueItems") is True and writer.get("uniqueItems") is not True:
            found.append(Problem("UNIQUE_ITEMS_ADDED", f"{path}/uniqueItems", "items must be unique now"))
        ours, our_rest = _items(reader)
        theirs, their_rest = _items(writer)
        for at in range(max(len(ours), len(theirs))):
            inner = ours[at] if at < len(ours) else our_rest
            before = theirs[at] if at < len(theirs) else their_rest
            problems = self._compare(inner, before, f"{path}/items/{at}")
            if problems and at >= len(theirs):
                problems = [Problem("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", f"{path}/items/{at}", problems[0].text)]
            elif problems and at >= len(ours):
                problems = [Problem("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", f"{path}/items/{at}", problems[0].text)]
            found += problems
        found += self._compare(our_rest, their_rest, f"{path}/items")
        # Unless items is a list, additionalItems has no effect, but Confluent's rules compare it.
        if not isinstance(reader.get("items"), list):
            where = f"{path}/additionalItems"
            found += self._compare(reader.at("additionalItems"), writer.at("additionalItems"), where)
        if "contains" in reader.schema:
            found += self._contains(reader, writer, path)
        return found

    def _contains(self, reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
        where = f"{path}/contains"
        if "contains" not in writer.schema:
            return [Problem("MIN_CONTAINS_ADDED", where, "it is new")]
        found = self._compare(reader.at("contains"), writer.at("contains"), where)
        if "maxContains" in reader.schema and reader.schema["contains"] != writer.schema["contains"]:
            found.append(
                Problem(
                    "MAX_CONTAINS_ADDED", where, "maxContains cannot be compared when the schema of contains changes"
                )
            )
        if writer.get("minContains", 1) < reader.get("minContains", 1):
            found.append(Problem("MIN_CONTAINS_INCREASED", where, "more matches are required"))
        return found + _bounds(reader, writer, path, ("maxContains",), ())


def _types(reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> Iterator[Problem]:
    refused = sorted(writer.types - reader.types)
    if refused and not (refused == ["integer"] and "number" in reader.types):
        kind = "TYPE_NARROWED" if writer.types & reader.types else "TYPE_CHANGED"
        yield Problem(kind, path, f"no longer allowed: {', '.join(refused)}")


def _not_compared(reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
    found = []
    for name in _NOT_COMPARED:
        ours = reader.get(name)
        if ours is not None and ours is not True and ours != writer.get(name):
            text = f"this registry does not compare {name}: it must not change"
            found.append(Problem("NOT_COMPARED", f"{path}/{name}", text))
    return found


def _numbers(reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
    found = []
    for name, exclusive, sign in (("maximum", "exclusiveMaximum", 1), ("minimum", "exclusiveMinimum", -1)):
        ours, theirs = _limit(reader, name, exclusive, sign), _limit(writer, name, exclusive, sign)
        if ours is not None and (theirs is None or ours < theirs):
            kind = f"{name.upper()}_{'ADDED' if theirs is None else 'DECREASED' if sign == 1 else 'INCREASED'}"
            found.append(Problem(kind, f"{path}/{name}", "fewer numbers are allowed"))
    ours, theirs = reader.get("multipleOf"), writer.get("multipleOf")
    if ours is not None and (theirs is None or not _divides(ours, theirs)):
        kind = "MULTIPLE_OF_ADDED" if theirs is None else "MULTIPLE_OF_CHANGED"
        if not (theirs is None and _divides(ours, 1) and writer.types & {"number", "integer"} == {"integer"}):
            found.append(Problem(kind, f"{path}/multipleOf", "fewer numbers are allowed"))
    return found


def _limit(node: JsonSchemaNode, name: str, exclusive: str, sign: int) -> tuple[float, int] | None:
    """The narrower of the inclusive and the exclusive limit; a smaller tuple allows less. In draft 4 the exclusive
    limit is a boolean."""
    found = []
    inclusive, bound = node.get(name), node.get(exclusive)
    if inclusive is not None:
        found.append((sign * inclusive, 0 if bound is True else 1))
    if bound is not None and not isinstance(bound, bool):
        found.append((sign * bound, 0))
    return min(found, default=None)


def _divides(divisor: float, number: float) -> bool:
    from fractions import Fraction

    return Fraction(str(number)) % Fraction(str(divisor)) == 0


def _strings(reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
    found = _bounds(reader, writer, path, ("maxLength",), ("minLength",))
    ours, theirs = reader.get("pattern"), writer.get("pattern")
    if ours is not None and ours != theirs:
        kind = "PATTERN_ADDED" if theirs is None else "PATTERN_CHANGED"
        found.append(
            Problem(kind, f"{path}/pattern", "this registry does not compare patterns: the pattern must not change")
        )
    return found


def _bounds(
    reader: JsonSchemaNode, writer: JsonSchemaNode, path: str, upper: tuple[str, ...], lower: tuple[str, ...]
) -> list[Problem]:
    found = []
    less: Callable[[Any, Any], bool] = lambda ours, theirs: ours < theirs  # noqa: E731
    more: Callable[[Any, Any], bool] = lambda ours, theirs: ours > theirs  # noqa: E731
    for names, narrower, word in ((upper, less, "DECREASED"), (lower, more, "INCREASED")):
        for name in names:
            ours, theirs = reader.get(name), writer.get(name)
            if ours is None or (theirs is None and names is lower and ours <= 0):
                continue
            if theirs is None or narrower(ours, theirs):
                kind = f"{_snake(name)}_{'ADDED' if theirs is None else word}"
                found.append(Problem(kind, f"{path}/{name}", f"{ours} after {theirs}"))
    return found


def _snake(name: str) -> str:
    return "".join(f"_{one}" if one.isupper() else one.upper() for one in name)


def _required(reader: JsonSchemaNode, writer: JsonSchemaNode, path: str) -> list[Problem]:
    theirs = writer.get("required")
    before = set(theirs) if isinstance(theirs, list) else set()
    ours = reader.get("required")
    properties = reader.get("properties", _OPEN)
    found = []
    for name in ours if isinstance(ours, list) else ():
        inner = properties.get(name)
        if name not in before and not (isinstance(inner, Mapping) and "default" in inner):
            text = "it is required now, and has no default"
            found.append(Problem("REQUIRED_ATTRIBUTE_ADDED", f"{path}/required/{name}", text))
    return found


def _patterns_of(node: JsonSchemaNode) -> dict[str, JsonSchemaNode]:
    return {pattern: node.inner(one) for pattern, one in node.get("patternProperties", _OPEN).items()}


def _is_same(reader: Any, writer: Any) -> bool:
    """Whether both schemas have the same text, without references, which may lead to different schemas."""
    text, other = (json.dumps(schema, sort_keys=True) for schema in (reader, writer))
    return text == other and not any(f'"{keyword}"' in text for keyword in REFERENCES)


def _matching(node: JsonSchemaNode, name: str) -> tuple[list[JsonSchemaNode], list[JsonSchemaNode]]:
    """Two lists of schemas: of patterns that match a property's name, and of patterns for which this is unknown."""
    verdicts = [(_matches(pattern, name), one) for pattern, one in _patterns_of(node).items()]
    return [one for found, one in verdicts if found], [one for found, one in verdicts if found is None]


def _matches(pattern: str, name: str) -> bool | None:
    """Whether a pattern matches; None if Python cannot express the pattern."""
    try:
        return is_found(pattern, name)
    except UncheckedPattern:
        return None


def _rest(node: JsonSchemaNode) -> JsonSchemaNode:
    """The schema of the properties that no other keyword names."""
    named = "additionalProperties" in node.schema or "unevaluatedProperties" not in node.schema
    return node.at("additionalProperties" if named else "unevaluatedProperties")


def _items(node: JsonSchemaNode) -> tuple[list[JsonSchemaNode], JsonSchemaNode]:
    """The schemas of the first items, each with its own position, and the schema of all later items."""
    unevaluated = node.get("unevaluatedItems", True)
    first, rest = node.get("prefixItems"), node.get("items", unevaluated)
    if isinstance(rest, list):
        first, rest = rest, node.get("additionalItems", unevaluated)
    return [node.inner(one) for one in first or ()], node.inner(rest)
