"""Sorts rows of equal size on disk: sorted runs of a bounded number of rows are merged while they are read.

Called by :mod:`oncelog.apps.verify.copy.comparing` and :mod:`oncelog.apps.verify.copy.copied_topics`. Rows are bytes
and are sorted as bytes. Memory: the rows of one run, about 90 bytes each besides the row itself, and one block of each
run while the runs are merged.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from zlib import crc32

from oncelog.errors import OncelogError

RUN_ROWS = 500_000
MAX_FILES = 256
"""The maximum number of runs that are merged at once."""
_BLOCK_ROWS = 2000


class Runs:
    """Sorted runs in a folder.

    :param name: distinguishes these runs from others in the folder.
    :param files: runs that an interrupted program left complete, each with its checksum.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        row_bytes: int,
        *,
        run_rows: int = RUN_ROWS,
        files: Mapping[str, int] | None = None,
    ) -> None:
        self.files = dict(files or {})
        """The checksum of each run, in the order in which they were written."""
        self._folder = folder
        self._name = name
        self._row_bytes = row_bytes
        self._run_rows = run_rows
        self._rows: list[bytes] = []
        self._merged: dict[str, int] = {}

    def add(self, row: bytes) -> None:
        """Take one more row, and write a run when it is full."""
        self._rows.append(row)
        if len(self._rows) >= self._run_rows:
            self.flush()

    def extend(self, rows: Sequence[bytes]) -> None:
        """Take more rows; the caller asks :attr:`is_full` in between."""
        self._rows += rows

    @property
    def is_full(self) -> bool:
        """Whether the rows in memory are enough for a run."""
        return len(self._rows) >= self._run_rows

    def flush(self) -> None:
        """Write the rows in memory as a run and sync its file."""
        if not self._rows:
            return
        self._rows.sort()
        name = f"{self._name}-{len(self.files)}.run"
        checksum = 0
        with (self._folder / name).open("wb") as file:
            for begin in range(0, len(self._rows), _BLOCK_ROWS):
                block = b"".join(self._rows[begin : begin + _BLOCK_ROWS])
                checksum = crc32(block, checksum)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        self.files[name] = checksum
        self._rows = []

    def merged(self) -> Iterator[bytes]:
        """Every row, in order.

        :raises OncelogError: a run was changed since it was written, which is detected at its end at the latest.
        """
        self.flush()
        while len(self.files) > MAX_FILES:
            self._merge_some()
        return chain.from_iterable(self._sorted_blocks(list(self.files)))

    def _merge_some(self) -> None:
        """Merge the first runs into one until few enough are left, because a process can have only a few hundred files
        open."""
        some, name = list(self.files)[:MAX_FILES], f"{self._name}-merged-{len(self._merged)}.run"
        checksum = 0
        with (self._folder / name).open("wb") as file:
            for rows in self._sorted_blocks(some):
                block = b"".join(rows)
                checksum = crc32(block, checksum)
                file.write(block)
        for one in some:  # the merged files stay: an interrupted comparison starts from them again
            self._merged[one] = self.files.pop(one)
        self.files[name] = checksum

    def _sorted_blocks(self, names: Sequence[str]) -> Iterator[list[bytes]]:
        """Merge the rows of several runs; yields blocks of rows, in order.

        Every run's unread rows follow the last row of its block in memory. So all rows up to the smallest of these last
        rows can be yielded; they are sorted together, which only merges lists that are already sorted.
        """
        unread = [self._read(name) for name in names]
        blocks = [next(blocks) for blocks in unread]
        while blocks:
            bound = min(block[-1] for block in blocks)
            ready: list[bytes] = []
            for at in reversed(range(len(blocks))):
                block = blocks[at]
                cut = bisect_right(block, bound)
                ready += block[:cut]
                if cut < len(block):
                    del block[:cut]
                elif (following := next(unread[at], None)) is not None:
                    blocks[at] = following
                else:
                    del blocks[at], unread[at]
            ready.sort()
            yield ready

    def _read(self, name: str) -> Iterator[list[bytes]]:
        """The rows of a run, a block at a time."""
        size, checksum = self._row_bytes, 0
        with (self._folder / name).open("rb", buffering=0) as file:
            while block := file.read(size * _BLOCK_ROWS):
                checksum = crc32(block, checksum)
                yield [block[begin : begin + size] for begin in range(0, len(block), size)]
        if checksum != self.files[name]:
            raise OncelogError(f"{self._folder / name} is not as it was written: remove the folder, and begin again")

    def remove(self) -> None:
        """Remove the files."""
        for name in [*self.files, *self._merged]:
            (self._folder / name).unlink(missing_ok=True)
        self.files, self._merged = {}, {}
