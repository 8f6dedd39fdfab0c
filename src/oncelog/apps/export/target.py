"""The target of an export, and the export's progress. Implemented for Parquet, CSV and Delta.

Invariant of every target: rows and the :class:`ExportProgress` after them become visible to the next run in one step,
or neither does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Protocol

from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json

if TYPE_CHECKING:
    import pyarrow as pa


class ExportError(OncelogError):
    """The export cannot begin or continue; the text says what to do."""


@dataclass(frozen=True, slots=True)
class ExportSource:
    """The source of an export, which is the same in all runs into one target.

    :param topic_number: the beginning of the topic's id; 0 if the cluster has no ids of topics.
    :param schemas: the registry's ids of the schemas of ``key`` and ``value``.
    """

    topic: str
    topic_number: int
    schemas: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """The progress of an export: the offset of the next record of each partition."""

    source: ExportSource
    offsets: Mapping[int, int]

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str, where: str) -> ExportProgress:
        """Read the progress from its stored form.

        :raises ExportError: this is not the progress of an export.
        """
        try:
            given = json.loads(text)
            source = ExportSource(**given["source"])
            return cls(source, {int(number): int(offset) for number, offset in given["offsets"].items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ExportError(f"{where} has no position of the export: {error!r}") from error


class ExportTarget(Protocol):
    """One table in files. Every method may raise OncelogError or OSError."""

    def begun(self, topic: str, partitions: Sequence[int]) -> ExportProgress | None:
        """The progress of an earlier run for this topic; None if there was none. Content after the last commit is
        removed.

        :raises ExportError: the existing content does not belong to this export.
        """
        ...

    def open(self, schema: pa.Schema, source: ExportSource) -> None:
        """Prepare for rows with these columns.

        :raises ExportError: an earlier run had other columns.
        """
        ...

    def write(self, rows: pa.Table) -> None:
        """Write rows; they become part of the table with the next commit."""
        ...

    @property
    def size_bytes(self) -> int:
        """The approximate size of the rows that are written, but not committed yet."""
        ...

    def commit(self, progress: ExportProgress) -> None:
        """Put the rows since the last commit, and the progress after them, on stable storage."""
        ...

    def close(self) -> None:
        """Discard rows that are not committed."""
        ...
