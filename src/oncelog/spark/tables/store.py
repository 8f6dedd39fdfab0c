"""The interface of a table to the code that commits batches: look, prepare, write in tasks, commit. Implemented for
each format.

The identity of a batch, its :class:`~oncelog.spark.sink.marker.Marker`, is part of the commit of its rows, so either
both are in the table or neither is. Invariants of every store:

- :meth:`TableStore.commit` takes effect only if no other run has committed under the same group since the
  :class:`TableLook` in the :class:`Commit`; otherwise it raises :class:`Conflict`, and nothing is committed.
- A :class:`TableLook` that follows a commit of unknown outcome shows the outcome, which does not change any more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from oncelog.errors import OncelogError
from oncelog.spark.sink.marker import Marker
from oncelog.spark.tables.options import Mode, TableOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

FOR_EVER_MS = 2**62
"""The retention of an identity that never expires."""


def table_group(query_id: str, name: str) -> str:
    """The group under which a table stores the batches of a query's sink.

    It does not contain the table's name, because the batches are stored in the table itself.

    :param name: the sink's name, if it has one.
    """
    return f"{query_id}:{name}" if name else query_id


def query_of(group: str) -> str:
    """The id of the query in a :func:`table_group`."""
    return group.partition(":")[0]


class Conflict(OncelogError):
    """Another writer has changed the table, or the outcome of the commit is unknown: read the table again, then decide
    again.
    """


class TableRefused(OncelogError):
    """The table cannot be read or written; the text says which, and why."""


class TableLayout(NamedTuple):
    """The columns and partitions of a table.

    :param partitions: the table's partition columns or expressions, in order.
    :param by_columns: whether each of ``partitions`` is just the name of a column.
    """

    columns: Sequence[str]
    partitions: tuple[str, ...] = ()
    by_columns: bool = True


class TableLook(NamedTuple):
    """The observed state of a table.

    :param table_id: distinguishes the table from others of the same name; empty if there is no table.
    :param retention_ms: how long identities stay in the table after their commit.
    :param marker: the last batch of the group in the table.
    :param others: if ``marker`` is None: the last batches of the query's other groups in the table.
    :param layout: None if there is no table.
    """

    table_id: str
    retention_ms: int
    marker: Marker | None
    others: Mapping[str, Marker] = {}
    layout: TableLayout | None = None

    def is_as(self, before: TableLook) -> bool:
        """Whether the table and the group's last batch in it are the same as in ``before``."""
        return (self.table_id, self.marker) == (before.table_id, before.marker)


class WrittenPart(NamedTuple):
    """The rows that a task wrote, or left to the driver.

    :param rows: the number of rows.
    :param size_bytes: the size of the rows, as the task wrote them.
    :param inline: the rows in Arrow's stream format, if the task left them to the driver.
    :param written: the store's data for committing the rows that the task wrote itself.
    :param refused: why the table refuses the rows, in a sentence.
    """

    rows: int
    size_bytes: int
    inline: bytes | None = None
    written: bytes | None = None
    refused: str = ""


TaskWriter = Callable[["Iterator[pa.RecordBatch]"], Iterator[WrittenPart]]
"""Writes rows in tasks, so it is picklable. Spark may pass it the same rows several times, in different processes."""


class Commit(NamedTuple):
    """One batch that is to be committed to the table.

    :param seen: the observed state on which the decision to write is based.
    """

    group: str
    marker: Marker
    seen: TableLook
    mode: Mode
    parts: Sequence[WrittenPart]


class Leftover(NamedTuple):
    """Something that a task wrote and that no commit refers to, because the task failed, ran twice, or its driver was
    killed.

    :param what: a file's path, or a table of PostgreSQL.
    :param rows: None for a file.
    """

    what: str
    size_bytes: int
    rows: int | None = None


class TableStore(Protocol):
    """One table, in which micro-batches are committed. Every method may raise OncelogError."""

    def look(self, group: str, plans: Sequence[str], known: Collection[str] = ()) -> TableLook:
        """The current state of the table, with the last batch of ``group`` in it.

        :param plans: the fingerprints that the batch may have: a table may store only a part of a fingerprint.
        :param known: other groups under which the checkpoint has written: a table may not be able to list the query's
            groups, and the query may have lost its id.
        """
        ...

    def prepare(self, schema: StructType, options: TableOptions) -> str:
        """Create the table for these rows, or compare its columns with theirs and add the missing ones; returns its id.

        :param options: the table's options, with the names of its columns and its partitions; they are used from now
            on.
        """
        ...

    def layout(self) -> TableLayout | None:
        """The table's layout; None if the table does not exist."""
        ...

    def arranged(self, rows: DataFrame) -> DataFrame:
        """The rows, converted and checked as the table requires. Called after :meth:`prepare`; raises
        ConfigError before rows are computed."""
        ...

    def task_writer(self) -> TaskWriter:
        """The writer for the rows of a task. Called after :meth:`prepare`."""
        ...

    def commit(self, commit: Commit) -> None:
        """Put the batch and its identity into the table, in one commit. Raises Conflict."""
        ...


class MaintainedTable(TableStore, Protocol):
    """A table with maintenance functions, for ``oncelog pipeline doctor`` and ``clean``."""

    def check(self) -> None:
        """Check that a table of files can be written, whatever the rows. Raises ConfigError if not."""
        ...

    def compare(self, schema: StructType, options: TableOptions) -> None:
        """Compare the table's columns, if it exists, with those of the rows; changes nothing. Raises ConfigError as
        :meth:`prepare` would."""
        ...

    def missing_rights(self) -> list[str]:
        """The operations on the table that the sink needs and is not permitted, as far as this can be checked."""
        ...

    def leftovers(self, older_than_h: int) -> list[Leftover]:
        """The leftovers of tasks that are older than this many hours, so that no batch in progress can need them."""
        ...

    def remove(self, found: Iterable[Leftover], older_than_h: int) -> None:
        """Delete what :meth:`leftovers` with the same ``older_than_h`` has found."""
        ...


def check_rights(table: object, missing: Sequence[str]) -> None:
    """Raises TableRefused if a right of :meth:`MaintainedTable.missing_rights` is missing."""
    if missing:
        raise TableRefused(f"{table} cannot be written: {'; '.join(missing)}")


def unwritable(folder: str) -> list[str]:
    """Why this process may not write to a folder of this machine, or to its nearest existing parent; empty if it
    may.
    """
    path = Path(folder).absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return [] if path.is_dir() and may_write(path) else [f"the folder {path} may not be written"]


def may_write(path: Path) -> bool:
    """Whether this process may write to a file, or create files in a folder."""
    mode = os.W_OK | os.X_OK if path.is_dir() else os.W_OK
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def inline_rows(parts: Iterable[WrittenPart]) -> list[pa.RecordBatch]:
    """The rows that tasks left to the driver."""
    import pyarrow as pa

    return [batch for part in parts if part.inline for batch in pa.ipc.open_stream(part.inline)]
