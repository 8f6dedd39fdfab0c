"""The SQLite file of the metadata: its tables, transactions, syncs and lock. The store defines its contents.

Called by :class:`oncelog.broker.metadata.store.MetadataStore`, on the broker's one thread. Only
:meth:`MetadataFile.move_log` may run on another.
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
"""Marks the file as ours in SQLite's header ("oncl")."""
SQLITES_LOG_PAGES = 1000
"""After this many pages SQLite checkpoints its write-ahead log itself, with three syncs in the iteration of the request
that makes the change."""
LONGEST_PATH = 504
"""SQLite's limit in bytes: 512, less what it appends to a file's name."""
LOG_ROWS = 4000
"""Rows changed (about a page of 4 KB each) after which the write-ahead log is moved into the file."""

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
"""``replicas``: with several nodes, which of them hold each partition. ``deleted_topics``: those whose folders may
still exist under their names."""


class MetadataFile:
    """One open metadata file, or one in memory.

    :param path: the file, or ``:memory:``.
    :param sync: False gives up durability through a power failure (not through kill -9), for throwaway brokers.
    :param undone: called after the changes of a batch were undone: data read from the file must be read again.
    :raises MetadataError: SQLite cannot open it.
    """

    def __init__(self, path: str, *, sync: bool, undone: Callable[[], None]) -> None:
        self.path = path
        self.has_log = False
        """Whether changes go to a write-ahead log; not in memory, nor on a file system that does not support it."""
        self.changes = 0
        """How many changes have been made, including those of earlier starts; each start counts as one change."""
        self._syncs = sync
        self._undone = undone
        self._in_batch = False
        self._failure: str | None = None
        self._changed: Callable[[], None] | None = None
        """Called after changes, if the caller syncs them."""
        self._alone: AbstractContextManager[object] = nullcontext()
        """The lock that is held while the file is used."""
        self._log_began = 0
        """The number of changed rows when the current log began."""
        try:
            self._db = self._connect(sync)
        except sqlite3.Error as error:
            raise _opening_error(path, error) from error

    def close(self) -> None:
        """Release the file; nothing is lost if this is not called."""
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
        """Lock the file; the block makes the first change of a start. An error closes the file.

        Yields whether the file is new: its tables exist and are empty.

        :raises MetadataError: it is not a metadata file, is damaged or in use, or the disk is full.
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
        """The rows of a query."""
        return self._db.execute(statement)

    def meta(self) -> dict[str, str]:
        """The table ``meta``; :attr:`changes` is set from it.

        :raises KeyError, ValueError: it has no valid number of changes.
        """
        rows = dict(self._db.execute("SELECT key, value FROM meta"))
        self.changes = int(rows["changes"])
        return rows

    def set_meta(self, key: str, value: str) -> None:
        self.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def execute(self, statement: str, *values: object) -> None:
        """Change the file; outside of a batch, the change is a batch by itself."""
        with self.batch():
            self._db.execute(statement, values)

    def execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Change the file once for each row; outside of a batch, these changes are a batch by themselves."""
        with self.batch():
            self._db.executemany(statement, rows)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Changes made inside become durable together at the end; an exception undoes all of them.

        :raises StorageError: they cannot be written, and are undone.
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
        """Accept no more changes."""
        self._failure = reason

    # --- syncing

    def leave_sync_to(self, changed: Callable[[], None], alone: AbstractContextManager[object] | None = None) -> None:
        """Leave syncing to the caller: ``changed`` is called after each change, after which the caller must sync the
        write-ahead log, and call :meth:`move_log` when that has become long.

        :param alone: a lock, if that is done on another thread.

        Without ``sync`` nothing changes, because no durability was requested.
        """
        if self._syncs:
            if alone is not None:
                self._alone = alone
            self._execute_pragma("synchronous = NORMAL")
            self._execute_pragma("wal_autocheckpoint = 0")
            self._changed = changed

    def sync_each_change(self) -> None:
        """Sync each change again, as before :meth:`leave_sync_to`. This does not sync changes made meanwhile."""
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
        """Move the write-ahead log into the file, syncing both, and begin a new one, with another sync, so that no
        change waits for that. May run on any thread; changes made meanwhile wait.

        :raises StorageError: a sync failed, so the contents of the disk are unknown. If the disk is only full, the log
            stays as it is, and keeps growing.
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
