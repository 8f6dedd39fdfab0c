"""The result of parsing a text, in every format. Called by the formats and the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from oncelog.schema_registry.rest_errors import InvalidSchema

MAX_DEPTH = 150
"""How deeply the JSON of a schema may be nested. The libraries that read it call themselves for each level."""


class Dependency(NamedTuple):
    """The text of a referenced schema under the name of the reference; its own references come first."""

    name: str
    text: str


class Parsed(Protocol):
    """A schema. Equal ``text`` means the same schema."""

    @property
    def text(self) -> str:
        """The text that is stored, whatever spaces and order the sender used."""

    def check_new(self) -> None:
        """What a new schema must keep to, and a stored one need not: it may have been written by another registry.

        :raises InvalidSchema: it does not.
        """

    def normalized(self) -> str:
        """The text with everything in an order that does not matter sorted."""

    def formatted(self, form: str) -> str:
        """The text in another form, which the format names (``serialized`` for Protobuf).

        :raises InvalidSchema: there is no such form.
        """

    def problems_reading(self, writer: Any) -> list[str]:
        """Why data of ``writer``, a schema of the same format, cannot always be read with this one; empty if it can."""


class SchemaFormat(Protocol):
    """A module of this package."""

    def parse(self, text: str, dependencies: Sequence[Dependency]) -> Parsed:
        """:raises InvalidSchema: the text is no such schema."""


def check_depth(value: object) -> None:
    """:raises InvalidSchema: arrays and objects are nested too deeply."""
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
