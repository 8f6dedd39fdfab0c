"""What goes wrong between a program and a schema registry, or between data and a schema."""

from __future__ import annotations

from oncelog.errors import OncelogError


class SchemaRegistryError(OncelogError):
    """The registry cannot be reached, answers what no schema registry answers, or refuses.

    ``status`` is the HTTP status and ``code`` the registry's own error code, such as 40403, if it answered with them.
    """

    def __init__(self, text: str, status: int | None = None, code: int | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.code = code

    @property
    def is_not_found(self) -> bool:
        """Whether the registry does not have what was asked for."""
        return self.status == 404 and self.code is not None


class SchemaError(OncelogError):
    """Data does not fit its schema, or is not framed as a schema registry's clients frame it."""


NOTHING_WRONG = "nothing is wrong with the record"
"""Said of a :class:`SchemaMismatch` where its reason goes on as text."""


class SchemaMismatch(SchemaError):
    """Nothing is wrong with the data: what is asked for here does not go with the schema that it was written with.

    The schema has a type that the reader's schema cannot take, or cannot be used here at all. To leave such records out
    would lose good ones: the reader's schema or the installation is to be changed.
    """


class OtherType(SchemaMismatch):
    """The data is of another type than the one that is read: a topic may hold several."""


def reason_of(error: SchemaError) -> str:
    """The text of an error that goes on as text, beside other records or in a header."""
    return f"{error}: {NOTHING_WRONG}" if isinstance(error, SchemaMismatch) else str(error)
