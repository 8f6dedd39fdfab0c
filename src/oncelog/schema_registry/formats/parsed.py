"""The interface of a parsed schema, for every format. Called by the formats and the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from oncelog.schema_registry.rest_errors import InvalidSchema

MAX_DEPTH = 150
"""The maximum nesting depth of a schema's JSON: the libraries that read it recurse once per level."""


class Dependency(NamedTuple):
    """The text of a referenced schema, and the name by which it is referenced. In a sequence, a schema comes after
    those that it refers to."""

    name: str
    text: str


class Parsed(Protocol):
    """A schema. Equal ``text`` means the same schema."""

    @property
    def text(self) -> str:
        """The canonical text that is stored, regardless of the sender's spacing and order."""

    def check_new(self) -> None:
        """Checks the rules for new schemas; a stored schema may break them, because another registry may have written
        it.

        :raises InvalidSchema: the schema breaks a rule.
        """

    def normalized(self) -> str:
        """The normalized text: elements whose order has no meaning are sorted."""

    def formatted(self, form: str) -> str:
        """The text in another form that the format defines (``serialized`` for Protobuf).

        :raises InvalidSchema: there is no such form.
        """

    def problems_reading(self, writer: Any) -> list[str]:
        """Why data written with ``writer``, a schema of the same format, cannot always be read with this schema; empty
        if it can.
        """


class SchemaFormat(Protocol):
    """The interface of a format's module."""

    def parse(self, text: str, dependencies: Sequence[Dependency]) -> Parsed:
        """Parse a schema's text.

        :raises InvalidSchema: the text is not a schema of this format.
        """


def check_depth(value: object) -> None:
    """Check the nesting depth of a schema's JSON.

    :raises InvalidSchema: arrays and objects are nested too deeply.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise InvalidSchema(f"it is nested more than {MAX_DEPTH} levels deep")
