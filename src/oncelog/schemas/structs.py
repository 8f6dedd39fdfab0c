"""The data classes of schemas in a registry. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oncelog.schemas.schema_errors import SchemaMismatch

AVRO = "AVRO"
JSON = "JSON"
PROTOBUF = "PROTOBUF"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to another schema under ``name``."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema's text, its type (``AVRO``, ``JSON`` or ``PROTOBUF``) and its references."""

    text: str
    schema_type: str = AVRO
    references: Sequence[Reference] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "references", tuple(self.references))  # a list cannot be hashed


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A version of a subject; records carry ``schema_id``, or ``guid`` (from Confluent's registry 8.0 on)."""

    subject: str
    version: int
    schema_id: int
    schema: Schema
    guid: str | None = None
    rules: tuple[str, ...] = ()
    """The names of the version's rules (``ruleSet``) that a writer would have to carry out."""

    def check_writable(self) -> None:
        """Check that values may be written with this version.

        :raises SchemaMismatch: the version has rules that would change or refuse values, and that this package does not
            carry out.
        """
        if self.rules:
            raise SchemaMismatch(
                f"version {self.version} of {self.subject} has rules for writers ({', '.join(self.rules)}), which only "
                "Confluent's serializers carry out: write with one of them, or with a version without rules"
            )
