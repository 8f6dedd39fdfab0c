"""Converts Python values to an Arrow array. A value that does not fit the column becomes null, and its error is
returned. Pure.

Called for every format that Python reads row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from oncelog.schemas.schema_errors import SchemaError

UNFIT = (ValueError, TypeError, ArithmeticError, pa.ArrowException)
"""The exceptions raised by values that a column cannot hold, such as a text that is not UTF-8."""
Problems = dict[int, SchemaError]
"""By row number, the error for which the cell of a row with a value is null."""


def fitting(values: list[Any], make: Callable[[list[Any]], pa.Array]) -> tuple[pa.Array, Problems]:
    """The array that ``make`` builds from the values, with null for values that do not fit; and their errors."""
    try:
        return make(values), {}
    except UNFIT:
        pass
    kept, problems = list(values), {}
    for number, value in enumerate(values):
        try:
            make([value])
        except UNFIT as error:
            kept[number], problems[number] = None, SchemaError(f"the value cannot be read into columns: {error}")
    return make(kept), problems
