"""Errors between a program and a schema registry, or between data and a schema."""

from __future__ import annotations

from oncelog.errors import OncelogError


class SchemaRegistryError(OncelogError):
    """The registry cannot be reached, sends an answer that is not a schema registry's, or refuses the request.

    ``status`` is the HTTP status and ``code`` the registry's own error code, such as 40403, if it answered with them.
    """

    def __init__(self, text: str, status: int | None = None, code: int | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.code = code

    @property
    def is_not_found(self) -> bool:
        """Whether the registry does not know the requested object."""
        return self.status == 404 and self.code is not None


class SchemaError(OncelogError):
    """Data does not fit its schema, or is not in Confluent's wire format."""


NOTHING_WRONG = "nothing is wrong with the record"
"""The beginning of a :class:`SchemaMismatch`'s message where it is passed on as text."""


class SchemaMismatch(SchemaError):
    """The data is valid, but its schema cannot be used as requested: it has a type that the reader's schema cannot
    read, or is not supported here.

    Skipping such records would lose valid data: change the reader's schema or the installation.
    """


class OtherType(SchemaMismatch):
    """The data has a type other than the requested one: a topic may hold several types."""


def inside(where: str, name: str) -> str:
    """The place of a field, for errors: the path of its row, which is empty for the outermost, and its name."""
    return f"{where}.{name}" if where else name


def reason_of(error: SchemaError) -> str:
    """The text of an error in the form in which it is stored in a column or a header."""
    return f"{error}: {NOTHING_WRONG}" if isinstance(error, SchemaMismatch) else str(error)
