"""Finds texts that a database cannot store, and describes rows in messages. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def first_of(mask: pa.Array) -> int | None:
    """The index of the first true value in a mask; None if there is none."""
    import pyarrow.compute as pc

    found = pc.index(mask, True).as_py()
    return None if found < 0 else int(found)


def first_invalid(values: pa.Array) -> int | None:
    """The index of the first text that is not UTF-8, such as bytes cast to a string unchecked."""
    import pyarrow as pa

    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        for index, value in enumerate(values.cast(pa.binary()).to_pylist()):
            try:
                (value or b"").decode()
            except UnicodeDecodeError:
                return index
    return None


def shown(value: Any, most: int = 60) -> str:
    """A value as text for a message, truncated after ``most`` characters."""
    text = repr(value) if isinstance(value, str | bytes) else str(value)
    return text if len(text) <= most else f"{text[:most]}..."


def row_of(batch: pa.RecordBatch, index: int) -> str:
    """A row as text for a message: the names and values of its first columns."""
    found = []
    for name, column in list(zip(batch.schema.names, batch.columns, strict=True))[:4]:
        try:
            value = column[index].as_py()
        except (ValueError, OverflowError):  # the value is not UTF-8, or its year is outside Python's range
            continue
        found.append(f"{name} = {shown(value, 30)}")
    return ", ".join(found)
