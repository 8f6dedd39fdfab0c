"""Parses schemas, and caches the results. Called by the rules, from several threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from oncelog.runtime.packages import need_packages
from oncelog.schema_registry.rest_errors import InvalidSchema
from oncelog.schema_registry.state import AVRO, JSON, PROTOBUF

if TYPE_CHECKING:
    from oncelog.schema_registry.formats.parsed import Dependency, Parsed, SchemaFormat

MODULES = {AVRO: "avro", JSON: "json_schema", PROTOBUF: "protobuf"}
NEEDED = ("avro", "jsonschema", "grpc_tools", "google.protobuf")
MAX_REMEMBERED_CHARACTERS = 32 * 1024 * 1024
"""The maximum size of the cached schemas' texts; the parsed schemas take a few times as much memory."""


def need_registry_packages() -> None:
    """Check that the packages of the extra ``schemas`` are installed.

    :raises OncelogError: one is missing.
    """
    need_packages("the schema registry needs", ("starlette", "uvicorn", *NEEDED), "schemas")


class Parser:
    """Parses texts, and caches the most recently used results."""

    def __init__(self) -> None:
        self._parsed: OrderedDict[tuple[str, str, tuple[Dependency, ...]], Parsed] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def parse(self, schema_type: str, text: str, dependencies: Sequence[Dependency] = ()) -> Parsed:
        """Parse a schema's text; returns the cached result if there is one.

        :raises InvalidSchema: the type is unknown, or the text is not a schema of this type.
        """
        key = (schema_type, text, tuple(dependencies))
        with self._lock:
            known = self._parsed.get(key)
            if known is not None:
                self._parsed.move_to_end(key)
                return known
        module = MODULES.get(schema_type)
        if module is None:
            raise InvalidSchema(f"unknown schema type {schema_type!r}; the types are {', '.join(MODULES)}")
        format_: SchemaFormat = import_module(f"oncelog.schema_registry.formats.{module}")
        parsed = format_.parse(text, dependencies)
        return self._remember(key, parsed)

    def _remember(self, key: tuple[str, str, tuple[Dependency, ...]], parsed: Parsed) -> Parsed:
        """Add a parsed schema to the cache, and return the cached one: if two threads parsed the same text, the first
        result."""
        with self._lock:
            if key not in self._parsed:
                self._characters += len(key[1])
            found = self._parsed.setdefault(key, parsed)
            while self._characters > MAX_REMEMBERED_CHARACTERS:
                (_, forgotten, _), _ = self._parsed.popitem(last=False)
                self._characters -= len(forgotten)
        return found


__all__ = ["MODULES", "Parser", "need_registry_packages"]
