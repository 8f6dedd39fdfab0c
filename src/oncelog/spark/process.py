"""The state that this package keeps in a process of Spark between calls: connections, checkpoints, counters.

Spark makes many short calls into Python. Readers and writers are pickled and live for one call: in a task, in a
separate worker of the driver, in the driver itself. The processes live longer, and a new connection in each call would
cost more than the call. So one object, :func:`this_process`, owns the state: it begins empty, each part is created when
it is first requested, and :meth:`Process.close` closes all of them.

Invariants:

- Nothing that is pickled owns a part. A :class:`Process` that is unpickled becomes that of the process that unpickles
  it.
- A forked process begins empty: resources that its parent opened belong to the parent.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol, TypeVar


class ProcessPart(Protocol):
    """One part of the process's state; created without arguments, and safe to use from several threads."""

    def close(self) -> None:
        """Release everything; the part may be used again, as if it were new."""
        ...


P = TypeVar("P", bound=ProcessPart)


class Process:
    """The parts of one process's state, each created once."""

    def __init__(self) -> None:
        self._parts: dict[type[ProcessPart], ProcessPart] = {}
        self._lock = threading.RLock()  # reentrant, because creating a part may need another part

    def part(self, kind: type[P]) -> P:
        with self._lock:
            found = self._parts.get(kind)
            if not isinstance(found, kind):
                found = self._parts[kind] = kind()
            return found

    def close(self) -> None:
        """Close all parts, the newest first."""
        with self._lock:
            parts = list(self._parts.values())
            self._parts.clear()
        for part in reversed(parts):
            part.close()

    def __reduce__(self) -> tuple[object, ...]:
        return this_process, ()


_process = Process()


def this_process() -> Process:
    """The state of the current process."""
    return _process


def _begin_empty() -> None:
    global _process
    _process = Process()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_begin_empty)
