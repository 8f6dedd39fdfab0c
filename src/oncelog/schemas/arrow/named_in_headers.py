"""Puts the schema ids that records' headers name before the values of a column. Called before a column is read."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as compute

from oncelog.schemas.arrow.fitting import Problems
from oncelog.schemas.codecs import Codecs
from oncelog.schemas.framing import header_name, prefixed
from oncelog.schemas.schema_errors import SchemaError, SchemaRegistryError


def with_ids(values: pa.Array, headers: pa.Array | None, codecs: Codecs, *, is_key: bool) -> tuple[pa.Array, Problems]:
    """The values with their schema ids prepended, and the reasons for rows whose id is unavailable; such a row is null.

    :param headers: the records' headers, lists of structs of ``key`` and ``value``; None if they are not known.
    :raises SchemaRegistryError: the registry cannot be asked.
    """
    named = {} if headers is None else _named(headers, header_name(is_key))
    if not named:
        return values, {}
    found: list[bytes | None] = values.to_pylist()
    problems: Problems = {}
    for row, header in named.items():
        value = found[row]
        if value is None:
            continue
        try:
            found[row] = prefixed(value, header, codecs.registry.id_of)
        except SchemaError as error:
            found[row], problems[row] = None, error
        except SchemaRegistryError as error:
            if not error.is_not_found:
                raise
            found[row], problems[row] = None, SchemaError(str(error))
    return pa.array(found, values.type), problems


def _named(headers: pa.Array, name: str) -> dict[int, bytes]:
    """The value of the last header of this name, by row; a null value counts as no header."""
    flat = compute.list_flatten(headers)
    matching = compute.indices_nonzero(compute.equal(compute.struct_field(flat, "key"), name).fill_null(False))
    rows = compute.list_parent_indices(headers).take(matching).to_pylist()
    contents = compute.struct_field(flat, "value").take(matching).to_pylist()
    return {row: content for row, content in dict(zip(rows, contents, strict=True)).items() if content is not None}
