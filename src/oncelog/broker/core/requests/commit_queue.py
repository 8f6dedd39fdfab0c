"""The queue of a group's commits. Called by ``commit_order``, and by the code that ends a request with a place in the
queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class CommitQueue:
    """The commits of one group that are under way or waiting."""

    def __init__(self) -> None:
        self.places: deque[QueuePlace] = deque()
        self._is_running = False

    def run(self) -> None:
        """Start the first commit, and the next ones as long as each finishes at once."""
        if self._is_running:
            return
        self._is_running = True
        try:
            while self.places and (begin := self.places[0].begin) is not None:
                self.places[0].begin = None
                begin()
        finally:
            self._is_running = False


class QueuePlace:
    """A commit's place in the queue of its group."""

    __slots__ = ("_group_id", "_lines", "begin")

    def __init__(self, lines: dict[str, CommitQueue], group_id: str) -> None:
        self._lines = lines
        self._group_id = group_id
        self.begin: Callable[[], None] | None = None
        lines.setdefault(group_id, CommitQueue()).places.append(self)

    def when_first(self, begin: Callable[[], None]) -> None:
        """Call ``begin`` now or later."""
        self.begin = begin
        self._lines[self._group_id].run()

    def leave(self) -> None:
        """The commit is done or was dropped: the next one may start. Calling it again has no effect."""
        line = self._lines.get(self._group_id)
        if line is not None and self in line.places:
            line.places.remove(self)
            if not line.places:
                del self._lines[self._group_id]
            line.run()
