"""The writing side of the outbox, for any Kafka broker: a transaction's records are rows of a table, committed with its
other rows.

A relay (:mod:`oncelog.atomic.relay`) sends each of these records once.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from oncelog.atomic.databases import Known, Value, async_database
from oncelog.atomic.tables import OUTBOX, ensure
from oncelog.atomic.transaction import Headers, Transaction
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time

if TYPE_CHECKING:
    from oncelog.atomic.databases import AnyConnection

_INSERT = (
    f"INSERT INTO {OUTBOX} (topic, partition_number, record_key, record_value, headers, timestamp_ms) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)


class OutboxWriter:
    """Writes a transaction's records as rows of the outbox table.

    Any number of instances may write at once, each with its own connection.

    :param known: the interface to the connection; by default the one for asyncio.
    """

    def __init__(self, database: AnyConnection, *, known: Known = async_database) -> None:
        self.database = known(database)

    async def start(self) -> None:
        """Create the outbox table if it does not exist. If the table exists, the call is not needed."""
        await ensure(self.database, OUTBOX)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction[Any, Any]]:
        """Begin a block whose changes in the database and whose records take effect together."""
        rows: list[tuple[Value, ...]] = []

        async def send(
            topic: str,
            value: bytes | None,
            key: bytes | None,
            partition: int | None,
            timestamp_ms: int | None,
            headers: Headers,
        ) -> None:
            now_ms = real_time.time_ms() if timestamp_ms is None else timestamp_ms
            number = None if partition is None else int(partition)
            rows.append((topic, number, _as_bytes(key), _as_bytes(value), written(headers), now_ms))

        await self.database.begin()
        try:
            yield Transaction(send)
            if rows:  # inserted just before the commit, so that the order of ids is close to the order of commits
                await self.database.insert(_INSERT, rows)
        except BaseException:
            await self.database.rollback()
            raise
        await self.database.commit()


def _as_bytes(given: bytes | None) -> bytes | None:
    if given is not None and not isinstance(given, bytes | bytearray | memoryview):
        raise TypeError(f"the outbox takes keys and values as bytes, not {type(given).__name__}: serialize them before")
    return None if given is None else bytes(given)


def written(headers: Headers) -> str:
    """Headers as text: JSON, with values in base64."""
    return json.dumps([[name, None if value is None else base64.b64encode(value).decode()] for name, value in headers])


def read(text: str) -> list[tuple[str, bytes | None]]:
    """The headers in a text that :func:`written` returned."""
    return [(name, None if value is None else base64.b64decode(value)) for name, value in json.loads(text)]
