"""The lock on a data folder, the same one that Apache Kafka takes: only one broker writes to the folder. Called by
``opening``.

Java's ``FileLock`` and ``lockf`` use the same kind of operating system lock (``LogManager.lockLogDirs``).

Invariants
- The operating system releases a process's lock as soon as the process closes any descriptor of the file. A second
  broker of the same process is therefore refused before it opens the file.
"""

from __future__ import annotations

import os
import threading

from oncelog.errors import ConfigError

LOCK_FILE = ".lock"

_held: set[str] = set()
"""The folders that brokers of this process have locked."""
_changing = threading.Lock()


class FolderLock:
    """A lock on a data folder that lasts until :meth:`release`, or until the process ends.

    :raises ConfigError: another broker has locked it, or its lock file cannot be used.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        import fcntl

        self._folder = os.path.realpath(folder)
        path = os.path.join(folder, LOCK_FILE)
        with _changing:
            if self._folder in _held:
                raise _in_use(folder)
            try:
                self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise ConfigError(f"cannot lock the data folder: {path} cannot be opened: {error.strerror}") from error
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(self._descriptor)
                if isinstance(error, BlockingIOError | PermissionError):
                    raise _in_use(folder) from None
                raise ConfigError(f"cannot lock the data folder: {path}: {error.strerror}") from error
            _held.add(self._folder)

    def release(self) -> None:
        with _changing:
            os.close(self._descriptor)
            _held.remove(self._folder)


def _in_use(folder: str | os.PathLike[str]) -> ConfigError:
    return ConfigError(
        f"the data folder {folder} is in use by another broker, oncelog's or Apache Kafka's; stop it or name another "
        "data folder"
    )


def _after_fork() -> None:
    """Called in a forked child: the parent's brokers have the locks, which a child does not inherit."""
    global _changing
    _changing = threading.Lock()
    _held.clear()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)
