"""The common part of PostgreSQL and SQLite: names of tables and columns, upserts, and the columns of a batch's
identity. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from oncelog.errors import ConfigError
from oncelog.spark.sink.marker import Marker


def quoted(name: str) -> str:
    """A name, quoted for SQL, whatever characters it contains."""
    return '"' + name.replace('"', '""') + '"'


def of_table(table: str, name: str) -> str:
    """A column of a table, or of an alias, for SQL."""
    return f"{table}.{quoted(name)}"


def on_conflict(key: Collection[str], columns: Sequence[str], later: str = "FALSE") -> str:
    """The clause of an INSERT that replaces rows with the same keys.

    :param later: the condition under which the table's row, named ``target``, is not replaced.
    """
    others = [f"{quoted(name)} = excluded.{quoted(name)}" for name in columns if name not in key]
    action = f"UPDATE SET {', '.join(others)} WHERE NOT {later}" if others else "NOTHING"
    return f" ON CONFLICT ({', '.join(map(quoted, key))}) DO {action}"


MARKER = "query_id, batch_id, row_count, fingerprint, planned_at_ms, offsets"
"""The columns of ``oncelog_batches`` that form a marker, in the order of its fields."""


def batch_row(marker: Marker) -> tuple[str | int, ...]:
    """The values of a sink's last batch for the columns :data:`MARKER`."""
    return (
        marker.query_id,
        marker.batch_id,
        marker.rows,
        marker.fingerprint,
        marker.planned_at_ms,
        marker.offsets,
    )


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a name such as ``public.flights`` or ``public."odd.name"``. Raises ConfigError."""
    found: list[str] = []
    rest = name
    while True:
        if rest.startswith('"'):
            part, rest = _quoted_part(name, rest)
        else:
            end = rest.find(".")
            part, rest = (rest, "") if end < 0 else (rest[:end], rest[end:])
            if '"' in part:
                raise _not_a_name(name)
        if not part or (rest and not rest.startswith(".")):
            raise _not_a_name(name)
        found.append(part)
        if not rest:
            return tuple(found)
        rest = rest[1:]


def _quoted_part(name: str, rest: str) -> tuple[str, str]:
    """The name in quotes at the beginning of ``rest``, and what follows it."""
    at = 1
    part = ""
    while True:
        end = rest.find('"', at)
        if end < 0:
            raise _not_a_name(name)
        part += rest[at:end]
        if rest[end + 1 : end + 2] != '"':
            return part, rest[end + 1 :]
        part += '"'
        at = end + 2


def _not_a_name(name: str) -> ConfigError:
    return ConfigError(f'Option table is {name!r}: write a name, or "odd.name" in double quotes, with a dot between')
