"""Sorts rows of one size on disk: sorted runs of a bounded number of rows, merged while they are read.

Called by :mod:`oncelog.verify.copy.comparing` and :mod:`oncelog.verify.copy.copied_topics`. Rows are bytes and sort as
such. Memory: one run, about 90 bytes and a row for each of its rows, and a block of each run while they are merged.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

RUN_ROWS = 500_000
MAX_FILES = 256
"""Runs that are merged at once."""
_BLOCK_ROWS = 2000


class Runs:
    """Sorted runs in a folder.

    :param name: distinguishes these runs from others in the folder.
    :param files: runs that an interrupted program left complete.
    """

    def __init__(
        self, folder: Path, name: str, row_bytes: int, *, run_rows: int = RUN_ROWS, files: Sequence[str] = ()
    ) -> None:
        self.files = list(files)
        self._folder = folder
        self._name = name
        self._row_bytes = row_bytes
        self._run_rows = run_rows
        self._rows: list[bytes] = []
        self._merged: list[str] = []

    def extend(self, rows: Sequence[bytes]) -> None:
        """Take more rows; the caller asks :attr:`is_full` in between."""
        self._rows += rows

    @property
    def is_full(self) -> bool:
        """Whether a run's rows are in memory."""
        return len(self._rows) >= self._run_rows

    def flush(self) -> None:
        """Write what is in memory as a run, on stable storage when this returns."""
        if not self._rows:
            return
        self._rows.sort()
        name = f"{self._name}-{len(self.files)}.run"
        with (self._folder / name).open("wb") as file:
            for begin in range(0, len(self._rows), _BLOCK_ROWS):
                file.write(b"".join(self._rows[begin : begin + _BLOCK_ROWS]))
            file.flush()
            os.fsync(file.fileno())
        self.files.append(name)
        self._rows = []

    def merged(self) -> Iterator[bytes]:
        """Every row, in order."""
        self.flush()
        while len(self.files) > MAX_FILES:
            self._merge_some()
        return heapq.merge(*map(self._read, self.files))

    def _merge_some(self) -> None:
        """Make one run of the first ones: a process may not have more files open than a few hundred."""
        some, name = self.files[:MAX_FILES], f"{self._name}-merged-{len(self._merged)}.run"
        with (self._folder / name).open("wb") as file:
            file.writelines(heapq.merge(*map(self._read, some)))
        self._merged += some  # kept: work that is interrupted now begins with them again
        self.files = [*self.files[MAX_FILES:], name]

    def _read(self, name: str) -> Iterator[bytes]:
        size = self._row_bytes
        with (self._folder / name).open("rb", buffering=0) as file:
            while block := file.read(size * _BLOCK_ROWS):
                for begin in range(0, len(block), size):
                    yield block[begin : begin + size]

    def remove(self) -> None:
        """Remove the files."""
        for name in [*self.files, *self._merged]:
            (self._folder / name).unlink(missing_ok=True)
        self.files, self._merged = [], []
