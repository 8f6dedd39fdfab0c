"""The SQLite file of the metadata: its tables, transactions, syncs and lock. The store defines what the tables contain.

Called by :class:`oncelog.broker.metadata.store.MetadataStore`, on the broker's one thread. Only
:meth:`MetadataFile.move_log` may run on another thread.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from oncelog.broker.metadata.metadata_errors import MetadataError
from oncelog.errors import OncelogError, StorageError

logger = logging.getLogger(__name__)

FORMAT_VERSION = 1
APPLICATION_ID = 0x6F6E636C
"""The application id in SQLite's header that marks the file as this broker's ("oncl")."""
SQLITES_LOG_PAGES = 1000
"""The number of pages after which SQLite itself moves its write-ahead log into the file, with three syncs, during the
request that makes the change."""
LONGEST_PATH = 504
"""SQLite's limit in bytes on a path: 512, minus the suffixes that it appends to the file's name."""
LOG_ROWS = 4000
"""The number of changed rows (about a page of 4 KB each) after which the write-ahead log is moved into the file."""

_SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE topics (
    name TEXT PRIMARY KEY, topic_id BLOB NOT NULL UNIQUE, partitions INTEGER NOT NULL, epoch_origins TEXT NOT NULL,
    created_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE configs (
    resource_type INTEGER NOT NULL, resource_name TEXT NOT NULL, property TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (resource_type, resource_name, property)) WITHOUT ROWID;
CREATE TABLE client_quotas (
    entity TEXT NOT NULL, key TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (entity, key)) WITHOUT ROWID;
CREATE TABLE scram_credentials (
    user TEXT NOT NULL, mechanism INTEGER NOT NULL, iterations INTEGER NOT NULL, salt BLOB NOT NULL,
    stored_key BLOB NOT NULL, server_key BLOB NOT NULL, PRIMARY KEY (user, mechanism)) WITHOUT ROWID;
CREATE TABLE acls (
    resource_type INTEGER NOT NULL, resource_name TEXT NOT NULL, pattern_type INTEGER NOT NULL,
    principal TEXT NOT NULL, host TEXT NOT NULL, operation INTEGER NOT NULL, permission INTEGER NOT NULL,
    PRIMARY KEY (resource_type, resource_name, pattern_type, principal, host, operation, permission)) WITHOUT ROWID;
CREATE TABLE replicas (topic TEXT PRIMARY KEY, nodes TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE deleted_topics (topic_id BLOB PRIMARY KEY) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT_VERSION};
"""
"""The tables. ``replicas``: with several nodes, the nodes of each partition. ``deleted_topics``: topics whose folders
may still exist under their names."""


class MetadataFile:
    """One open metadata file, or a database in memory.

    :param path: the file, or ``:memory:``.
    :param sync: False means that changes may be lost in a power failure (not by kill -9), for short-lived brokers.
    :param undone: called after the changes of a batch were undone: data read from the file must be read again.
    :raises MetadataError: SQLite cannot open it.
    """

    def __init__(self, path: str, *, sync: bool, undone: Callable[[], None]) -> None:
        self.path = path
        self.has_log = False
        """Whether changes go to a write-ahead log; False in memory, and on a file system that does not support it."""
        self.changes = 0
        """The number of changes ever made, including those of earlier starts; each start counts as one change."""
        self._syncs = sync
        self._undone = undone
        self._in_batch = False
        self._failure: str | None = None
        self._changed: Callable[[], None] | None = None
        """Called after each change, if the caller does the syncs."""
        self._alone: AbstractContextManager[object] = nullcontext()
        """The lock that is held while the file is used."""
        self._log_began = 0
        """The number of changed rows when the current log began."""
        try:
            self._db = self._connect(sync)
        except sqlite3.Error as error:
            raise _opening_error(path, error) from error

    def close(self) -> None:
        """Close the file; nothing is lost if this is not called."""
        with self._alone:
            self._db.close()

    # --- opening

    def _connect(self, sync: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0)
        connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
        # On macOS, a sync also empties the drive's cache; other systems ignore this setting.
        connection.execute(f"PRAGMA fullfsync = {int(sync)}")
        return connection

    @contextmanager
    def start(self) -> Iterator[bool]:
        """Lock the file; changes in the ``with`` block are the first ones of a start. An error closes the file.

        Yields whether the file is new, with empty tables. :raises MetadataError: the file is no metadata file, is
        damaged or in use, or the disk is full.
        """
        try:
            is_new = self._begin()
            self._in_batch = True
            yield is_new
            self._commit()
        except sqlite3.Error as error:
            self._db.close()
            raise _opening_error(self.path, error) from error
        except OncelogError:
            self._db.close()
            raise
        finally:
            self._in_batch = False

    def _begin(self) -> bool:
        execute = self._db.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")
        version = execute("PRAGMA user_version").fetchone()[0]
        application = execute("PRAGMA application_id").fetchone()[0]
        tables = execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION_ID and (application or tables):
            raise MetadataError(f"{self.path} is not a metadata file of oncelog; name another data folder")
        if version > FORMAT_VERSION:
            raise MetadataError(
                f"{self.path} has metadata format {version} and this oncelog knows formats up to {FORMAT_VERSION}; "
                f"start it with a newer oncelog"
            )
        if not tables:  # an empty file needs no journal, which would cost three syncs
            execute("PRAGMA journal_mode = MEMORY")
        self.has_log = execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal"
        if not self.has_log:
            execute("PRAGMA journal_mode = DELETE")
        execute("BEGIN IMMEDIATE")
        if application == APPLICATION_ID:
            return False
        for statement in _SCHEMA.split(";\n"):
            execute(statement)
        return True

    # --- reading and writing

    def select(self, statement: str) -> Iterable[Any]:
        """The rows that a query returns."""
        return self._db.execute(statement)

    def meta(self) -> dict[str, str]:
        """The table ``meta``; :attr:`changes` is set from it.

        :raises KeyError, ValueError: the table has no valid number of changes.
        """
        rows = dict(self._db.execute("SELECT key, value FROM meta"))
        self.changes = int(rows["changes"])
        return rows

    def set_meta(self, key: str, value: str) -> None:
        self.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def execute(self, statement: str, *values: object) -> None:
        """Execute a statement that changes the file; outside of a batch, it is a batch by itself."""
        with self.batch():
            self._db.execute(statement, values)

    def execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a statement that changes the file once for each row; outside of a batch, these changes are one
        batch."""
        with self.batch():
            self._db.executemany(statement, rows)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Changes made in the ``with`` block become durable together at its end; an exception undoes all of them.

        :raises StorageError: the changes cannot be written, and were undone.
        """
        if self._failure is not None:
            raise StorageError(self._failure)
        if self._in_batch:
            yield
            return
        with self._alone:
            self._in_batch = True
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._commit()
            except BaseException as error:
                self._undo()
                if isinstance(error, sqlite3.Error):
                    raise StorageError(f"cannot write the metadata file {self.path}: {error}") from error
                raise
            finally:
                self._in_batch = False
        if self._changed is not None:
            self._changed()

    def _commit(self) -> None:
        self.changes += 1
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('changes', ?)", (str(self.changes),))
        self._db.execute("COMMIT")

    def _undo(self) -> None:
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._undone()
        except sqlite3.Error as error:
            self._failure = f"the metadata file {self.path} failed: {error}; restart the broker"
            raise StorageError(self._failure) from error

    def fail(self, reason: str) -> None:
        """Accept no more changes, for this reason."""
        self._failure = reason

    # --- syncing

    def leave_sync_to(self, changed: Callable[[], None], alone: AbstractContextManager[object] | None = None) -> None:
        """Leave syncing to the caller. ``changed`` is called after each change; the caller must then sync the
        write-ahead log, and call :meth:`move_log` when the log has become long.

        :param alone: a lock, if the caller syncs on another thread.

        For a file opened with ``sync=False`` nothing changes, because no durability was requested.
        """
        if self._syncs:
            if alone is not None:
                self._alone = alone
            self._execute_pragma("synchronous = NORMAL")
            self._execute_pragma("wal_autocheckpoint = 0")
            self._changed = changed

    def sync_each_change(self) -> None:
        """Sync each change again, as before :meth:`leave_sync_to`. Changes made in between are not synced by this."""
        if self._syncs:
            self._changed = None
            self._execute_pragma("synchronous = FULL")
            self._execute_pragma(f"wal_autocheckpoint = {SQLITES_LOG_PAGES}")

    @property
    def is_synced_by_caller(self) -> bool:
        return self._changed is not None

    @property
    def log_is_long(self) -> bool:
        """Whether the write-ahead log should be moved into the file."""
        return self.is_synced_by_caller and self._db.total_changes - self._log_began >= LOG_ROWS

    def move_log(self) -> None:
        """Move the write-ahead log into the file, syncing both, and begin a new log, with another sync, so that no
        later change has to wait for that. May run on any thread; changes requested meanwhile wait.

        :raises StorageError: a sync failed, so the contents of the disk are unknown. If the disk is merely full, the
            log stays as it is, and continues to grow.
        """
        with self._alone:
            self._log_began = self._db.total_changes
            try:
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                self._db.execute("INSERT OR REPLACE INTO meta VALUES ('moved', ?)", (str(self._log_began),))
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_IOERR_FSYNC:
                    raise StorageError(f"cannot sync the metadata file {self.path}: {error}") from error
                logger.warning("the log of the metadata file %s cannot be moved into it now: %s", self.path, error)

    def _execute_pragma(self, text: str) -> None:
        try:
            with self._alone:
                self._db.execute(f"PRAGMA {text}")
        except sqlite3.Error as error:
            raise StorageError(f"cannot use the metadata file {self.path}: {error}") from error


def _opening_error(path: str, error: sqlite3.Error) -> MetadataError:
    extended = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    code = extended & 0xFF
    if code == sqlite3.SQLITE_FULL or extended == sqlite3.SQLITE_IOERR_SHMSIZE:
        return MetadataError(
            f"cannot use the metadata file {path}: the disk is full: free some space, then start again ({error})"
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return MetadataError(f"{path} is in use by another broker; stop it or name another data folder")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return MetadataError(
            f"the metadata file {path} is damaged ({error}); restore it, or move it away to have the topics "
            f"read again from their folders"
        )
    size = len(path.encode(errors="surrogateescape"))
    if code == sqlite3.SQLITE_CANTOPEN and size > LONGEST_PATH:
        return MetadataError(
            f"the metadata file {path} has a path of {size} bytes, and SQLite opens at most {LONGEST_PATH}: "
            "name a data folder with a shorter path"
        )
    return MetadataError(f"cannot use the metadata file {path}: {error}")
