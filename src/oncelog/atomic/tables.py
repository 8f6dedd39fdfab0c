"""The tables of this package, and how they are created."""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.atomic.databases import Database, Dialect

PREPARED = "oncelog_prepared"
OUTBOX = "oncelog_outbox"
RELAY = "oncelog_relay"
INBOX = "oncelog_inbox"

_TABLES: Mapping[str, str] = {
    PREPARED: """CREATE TABLE IF NOT EXISTS oncelog_prepared (
    transactional_id VARCHAR(249) PRIMARY KEY,
    writer VARCHAR(32) NOT NULL,
    token VARCHAR(32) NOT NULL
)""",
    OUTBOX: """CREATE TABLE IF NOT EXISTS oncelog_outbox (
    id {identity},
    batch BIGINT,
    topic VARCHAR(249) NOT NULL,
    partition_number INTEGER,
    record_key {bytes},
    record_value {bytes},
    headers TEXT NOT NULL,
    timestamp_ms BIGINT NOT NULL
)""",
    RELAY: """CREATE TABLE IF NOT EXISTS oncelog_relay (
    singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
    name VARCHAR(249) NOT NULL,
    writer VARCHAR(32) NOT NULL,
    batch BIGINT NOT NULL,
    token VARCHAR(32) NOT NULL,
    previous_token VARCHAR(32) NOT NULL,
    topic VARCHAR(249) NOT NULL
)""",
    INBOX: """CREATE TABLE IF NOT EXISTS oncelog_inbox (
    group_id VARCHAR(249) NOT NULL,
    topic VARCHAR(249) NOT NULL,
    partition_number INTEGER NOT NULL,
    next_offset BIGINT NOT NULL,
    PRIMARY KEY (group_id, topic, partition_number)
)""",
}
_TYPES: Mapping[Dialect, Mapping[str, str]] = {
    Dialect.SQLITE: {"identity": "INTEGER PRIMARY KEY", "bytes": "BLOB"},
    Dialect.POSTGRESQL: {"identity": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "bytes": "BYTEA"},
}
_KNOWN: Mapping[Dialect, str] = {
    Dialect.SQLITE: "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?",
    Dialect.POSTGRESQL: "SELECT found FROM to_regclass(?) AS found WHERE found IS NOT NULL",
}
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('oncelog.atomic', 0))"
"""Makes programs create tables one after another: CREATE TABLE IF NOT EXISTS of PostgreSQL fails if two programs
execute it at once."""


def definition(table: str, dialect: Dialect) -> str:
    """The statement that creates the table."""
    return _TABLES[table].format(**_TYPES[dialect])


async def ensure(database: Database, *tables: str) -> None:
    """Create the missing tables. If all exist, the program does not need the right to create tables."""
    await database.begin(brief=True)
    try:
        missing = [table for table in tables if not await database.fetch(_KNOWN[database.dialect], table)]
        if missing and database.dialect is Dialect.POSTGRESQL:
            await database.fetch(_ONE_AT_A_TIME)
        for table in missing:
            await database.fetch(definition(table, database.dialect))
    except BaseException:
        await database.rollback()
        raise
    await database.commit()
