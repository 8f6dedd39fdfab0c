"""JSON Schema: checked and resolved by ``jsonschema`` and ``referencing``, compared by ``json_reading``.

References are resolved in the schema itself and in its registered references; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft7Validator, validator_for
from referencing import Specification
from referencing.exceptions import Unresolvable

from oncelog.runtime import real_json as json
from oncelog.schema_registry.formats.json_reading import JsonSchemaNode, Reading, ReferenceResolver
from oncelog.schema_registry.formats.parsed import Dependency, check_depth
from oncelog.schema_registry.rest_errors import InvalidSchema
from oncelog.schemas.json_schema.patterns import check_schema, specification_of
from oncelog.schemas.json_schema.references import known_schemas, resource_of

_ROOT = "urn:oncelog:schema"
_NOT_A_SCHEMA = (SchemaError, ValueError, TypeError, AttributeError, KeyError, Unresolvable, RecursionError)


class JsonSchema:
    """A parsed schema; made by :func:`parse`."""

    def __init__(self, tree: Any, root: JsonSchemaNode) -> None:
        self.text = _json(tree)
        self._tree = tree
        self.root = root

    def check_new(self) -> None:
        """Does nothing: parsing has already checked everything."""

    def normalized(self) -> str:
        return json.dumps(self._tree, separators=(",", ":"), ensure_ascii=False, sort_keys=True)

    def formatted(self, form: str) -> str:
        raise InvalidSchema(f"JSON Schema has no format {form!r}")

    def problems_reading(self, writer: JsonSchema) -> list[str]:
        try:
            return Reading().problems(self.root, writer.root)
        except Unresolvable as error:
            return [f"{{errorType:'REFERENCE_NOT_FOUND', description:'{error}'}}"]
        except RecursionError:
            return ["{errorType:'TOO_DEEP', description:'the schemas are nested too deeply to be compared'}"]


def parse(text: str, dependencies: Sequence[Dependency]) -> JsonSchema:
    """Parse a JSON Schema.

    :raises InvalidSchema: the text is not a JSON Schema, or refers to a schema that was not passed along.
    """
    try:
        tree = _loaded(text)
        registry = known_schemas(tree, {one.name: _loaded(one.text) for one in dependencies})
        check_schema(validator_for(tree, default=Draft7Validator), tree)
        resource = resource_of(tree)
        resolver = registry.with_resource(_ROOT, resource).resolver_with_root(resource)
        specification = specification_of(tree)
        for reference, where in _references(tree, resolver, specification):
            where.lookup(reference)
    except _NOT_A_SCHEMA as error:
        raise InvalidSchema(f"this is not a JSON Schema: {_reason(error)}") from error
    return JsonSchema(tree, JsonSchemaNode(tree, resolver, specification))


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, Unresolvable):
        return (
            f"it refers to {error.ref!r}, which is neither in it nor among its references: register that schema, and "
            "refer to it by this name (references; --reference of the command)"
        )
    return (error.message if isinstance(error, SchemaError) else str(error))[:500] or type(error).__name__


def _loaded(text: str) -> Any:
    tree = json.loads(text)
    check_depth(tree)
    if not isinstance(tree, dict | bool):
        raise ValueError("a schema is an object, true or false")
    return tree


def _references(
    tree: Any, resolver: ReferenceResolver, specification: Specification[Any]
) -> Iterator[tuple[str, ReferenceResolver]]:
    """Each reference in the schema with its resolver: an inner ``$id`` changes the resolver."""
    waiting: list[tuple[Any, ReferenceResolver]] = [(tree, resolver)]
    while waiting:
        inner, where = waiting.pop()
        resource = specification.create_resource(inner)
        if inner is not tree and isinstance(inner, Mapping):  # draft 4 cannot look for an id in schema true or false
            where = where.in_subresource(resource)
        if isinstance(inner, Mapping) and isinstance(inner.get("$ref"), str):
            yield inner["$ref"], where
        waiting += [(one.contents, where) for one in resource.subresources()]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
