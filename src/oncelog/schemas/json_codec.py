"""JSON payloads, checked against a JSON Schema by jsonschema. Called by serializers and decoders.

Nothing is fetched from elsewhere: referenced schemas are in the registry or in the schema itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oncelog.runtime import real_json as json
from oncelog.schemas.framing import HEADER_BYTES
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.structs import JSON, Schema


class JsonCodec:
    """Reads and writes the payloads of one schema. ``tree`` is the parsed schema, ``known`` are the schemas to which it
    may refer.

    :param dependencies: the referenced schemas, by name.
    :raises SchemaError: the text is not a JSON Schema.
    """

    schema_type = JSON

    def __init__(self, schema: Schema, dependencies: Mapping[str, Schema]) -> None:
        from jsonschema import Draft7Validator
        from jsonschema import SchemaError as NoSchema
        from jsonschema.validators import validator_for

        from oncelog.schemas.json_schema.patterns import check_schema, with_patterns
        from oncelog.schemas.json_schema.references import known_schemas

        try:
            self.tree = parsed = json.loads(schema.text)
            kind = validator_for(parsed, default=Draft7Validator)
            check_schema(kind, parsed)
            self.known = known_schemas(parsed, {name: json.loads(one.text) for name, one in dependencies.items()})
            self._validator = with_patterns(kind)(parsed, registry=self.known)
        except NoSchema as error:
            raise SchemaError(f"this is not a JSON Schema: {error.message}") from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise SchemaError(f"this is not a JSON Schema: {error}") from error
        title = parsed.get("title") if isinstance(parsed, dict) else None
        self.name: str | None = title if isinstance(title, str) else None

    def encode(self, value: Any, *, strict: bool = False) -> bytes:
        """Encode a value as JSON.

        :raises SchemaError: the value does not fit the schema.
        """
        self.check(value)
        try:
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise SchemaError(f"the value cannot be written as JSON: {error}") from error

    def decode(self, data: bytes, *, check: bool = True) -> Any:
        """Decode the value after the schema id.

        :raises SchemaError: it is not JSON, or does not fit the schema.
        """
        try:
            value = json.loads(data[HEADER_BYTES:])
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"the payload is not JSON: {error}") from error
        if check:
            self.check(value)
        return value

    def check(self, value: Any) -> None:
        """Validate a value with the schema.

        :raises SchemaError: the value does not fit, or the schema references a schema that is not registered.
        """
        from jsonschema import ValidationError
        from referencing.exceptions import Unresolvable

        from oncelog.schemas.json_schema.ecma_patterns import SlowPattern

        try:
            self._validator.validate(value)
        except ValidationError as error:
            where = error.json_path.removeprefix("$").removeprefix(".")
            what = f"{where}: {error.message[:500]}" if where else error.message[:500]
            raise SchemaError(f"the value does not fit the JSON Schema{self._named}: {what}") from error
        except SlowPattern as error:
            raise SchemaError(f"the value cannot be checked with the JSON Schema{self._named}: {error}") from error
        except Unresolvable as error:
            raise SchemaError(f"the JSON Schema{self._named} refers to what is not registered: {error}") from error
        except RecursionError as error:
            raise SchemaError(f"the value nests too deeply for the JSON Schema{self._named}") from error

    def decode_json(self, data: bytes) -> tuple[Any, str | None]:
        """Decode the value after the schema id; returns it and the schema's title."""
        return self.decode(data), self.name

    def from_json(self, value: Any) -> Any:
        """The value unchanged, because values of this format are JSON already."""
        return value

    @property
    def _named(self) -> str:
        return f" {self.name}" if self.name else ""
