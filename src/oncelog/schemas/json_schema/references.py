"""Finds the schemas to which a JSON Schema refers, for values, columns and the registry; nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from jsonschema_specifications import REGISTRY as SPECIFICATIONS  # type: ignore[import-untyped]
from referencing import Registry, Resource

from oncelog.schemas.json_schema.patterns import specification_of


def known_schemas(tree: Any, dependencies: Mapping[str, Any]) -> Registry[Any]:
    """The schemas that a schema and its dependencies may refer to.

    A dependency is found by its name and by its own ``$id``, and as in Confluent's registry by its name after ``./`` or
    relative to the ``$id`` of the schema that refers to it.

    :param dependencies: the referenced schemas, by name.
    """
    resources = {name: resource_of(one) for name, one in dependencies.items()}
    own = {name: resource.id() for name, resource in resources.items()}
    bases = [base for base in (resource_of(tree).id(), *own.values()) if base]
    relative = {urljoin(base, name): name for base in bases for name in resources}
    relative |= {f"./{name}": name for name in resources}
    places = relative | {uri: name for name, uri in own.items() if uri} | {name: name for name in resources}
    registry: Registry[Any] = SPECIFICATIONS
    return registry.with_resources((uri, resources[name]) for uri, name in places.items())


def resource_of(tree: Any) -> Resource[Any]:
    """A schema with the draft that its ``$schema`` names."""
    return specification_of(tree).create_resource(tree)
