"""The three ways with each driver, blocking and with asyncio; on PostgreSQL also what only it does."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg.rows import dict_row

import oncelog
from oncelog import atomic
from oncelog.atomic import aio
from oncelog.client.aio import Admin, Consumer, Producer
from tests.conftest import RunningBroker
from tests.integration.client.reading import values
from tests.support.two_phase.pgbouncer import PgBouncer
from tests.support.two_phase.postgres import Postgres

PLACES = {
    "sqlite": "?",
    "psycopg": "%s",
    "psycopg-autocommit": "%s",
    "asyncpg": "$1",
    "pooled-psycopg": "%s",
    "pooled-psycopg-autocommit": "%s",
    "pooled-asyncpg": "$1",
}
"""Those that begin so go through a pooler in transaction mode."""


@pytest.fixture(scope="module")
def two_phase_broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(settings={"transaction.two.phase.commit.enable": True}) as broker:
        yield broker


@asynccontextmanager
async def connected(driver: str, address: str) -> AsyncIterator[Any]:
    if driver == "sqlite":
        connection: Any = sqlite3.connect(address)
        connection.row_factory = sqlite3.Row
        yield connection
        connection.close()
    elif driver.endswith("asyncpg"):
        words = dict(word.split("=", 1) for word in address.split())
        connection = await asyncpg.connect(
            host=words["host"],
            port=words.get("port"),
            user=words["user"],
            database=words["dbname"],
            statement_cache_size=0 if driver.startswith("pooled") else 100,
        )
        yield connection
        await connection.close()
    else:
        autocommit = driver.endswith("autocommit")
        made = await psycopg.AsyncConnection.connect(address, row_factory=dict_row, autocommit=autocommit)
        yield made
        await made.close()


@pytest.fixture(params=sorted(PLACES))
def driver(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def address(driver: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if driver == "sqlite":
        connection = sqlite3.connect(tmp_path / "t.db")
        connection.execute("CREATE TABLE items (item TEXT)")
        connection.close()
        return str(tmp_path / "t.db")
    running: Postgres = request.getfixturevalue("postgres")
    found = running.new_database()
    with psycopg.connect(found) as made:
        made.execute("CREATE TABLE items (item TEXT)")
    if driver.startswith("pooled"):
        pooler: PgBouncer = request.getfixturevalue("pooler")
        return pooler.before(found)
    return found


def rows(driver: str, address: str) -> list[str]:
    connection: Any = sqlite3.connect(address) if driver == "sqlite" else psycopg.connect(address)
    found = [item for (item,) in connection.execute("SELECT item FROM items ORDER BY item").fetchall()]
    connection.close()
    return found


async def insert(connection: Any, driver: str, item: str) -> None:
    statement = f"INSERT INTO items VALUES ({PLACES[driver]})"
    if driver.endswith("asyncpg"):
        await connection.execute(statement, item)
    elif driver == "sqlite":
        connection.execute(statement, (item,))
    else:
        await connection.execute(statement, (item,))


def test_rows_and_records_are_committed_together_with_asyncio(
    two_phase_broker: oncelog.Broker, driver: str, address: str, unique_name: str
) -> None:
    servers = two_phase_broker.bootstrap_servers

    async def main() -> None:
        producer = Producer(bootstrap_servers=servers, transactional_id=unique_name, two_phase_commit=True)
        async with connected(driver, address) as connection, producer:
            shop = aio.RowsAndRecords(connection, producer)
            await shop.start()
            for item in ("a", "b"):
                async with shop.transaction() as transaction:
                    await insert(connection, driver, item)
                    await transaction.send(unique_name, item.encode())
            with contextlib.suppress(LookupError):
                async with shop.transaction() as transaction:
                    await insert(connection, driver, "c")
                    await transaction.send(unique_name, b"c")
                    raise LookupError("the block fails")

    asyncio.run(main())
    assert rows(driver, address) == ["a", "b"]
    assert values(servers, unique_name) == [b"a", b"b"]


def test_outbox_relay_and_inbox_work_with_asyncio(
    oncelog_broker: RunningBroker, driver: str, address: str, unique_name: str
) -> None:
    servers = oncelog_broker.bootstrap_servers

    async def main() -> None:
        producer = Producer(bootstrap_servers=servers, transactional_id=f"{unique_name}-relay")
        admin = Admin(bootstrap_servers=servers)
        consumer: Consumer[bytes, bytes] = Consumer(
            bootstrap_servers=servers,
            group_id=unique_name,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",
        )
        async with (
            connected(driver, address) as mine,
            connected(driver, address) as relays,
            producer,
            admin,
        ):
            outbox = aio.Outbox(mine)
            await outbox.start()
            async with outbox.transaction() as transaction:
                await transaction.send(unique_name, b"x", b"key", 0, 17, [("h", b"1"), ("n", None)])
                await transaction.send(unique_name)
            relay = aio.Relay(relays, producer, admin)
            await relay.start()
            assert [await relay.round(), await relay.round()] == [2, 0]
            inbox = aio.Inbox(outbox, consumer, [unique_name])
            await inbox.start()
            found: list[Any] = []
            while len(found) < 2:
                async with inbox.transaction() as transaction:
                    for record in transaction.records:
                        await insert(mine, driver, f"taken {record.offset}")
                    found += transaction.records
            first, second = found
            assert (first.key, first.value, first.timestamp) == (b"key", b"x", 17)
            assert tuple(first.headers) == (("h", b"1"), ("n", None))
            assert (second.key, second.value) == (None, None)
            await consumer.stop()

    asyncio.run(main())
    assert rows(driver, address) == ["taken 0", "taken 1"]


@pytest.mark.parametrize("driver", ["pooled-psycopg", "pooled-psycopg-autocommit", "pooled-asyncpg"])
def test_programs_behind_a_pooler_prepare_no_conflicting_statements(
    oncelog_broker: RunningBroker, driver: str, address: str, unique_name: str
) -> None:
    """More rounds than psycopg takes to prepare a statement, by clients that share the server's connections."""
    servers = oncelog_broker.bootstrap_servers

    async def main() -> None:
        async with (
            Producer[Any, Any](bootstrap_servers=servers, transactional_id=unique_name) as producer,
            Admin(bootstrap_servers=servers) as admin,
            connected(driver, address) as relays,
        ):
            relay = aio.Relay(relays, producer, admin)
            for number in range(3):
                async with connected(driver, address) as mine, connected(driver, address) as other:
                    outboxes = [aio.Outbox(mine), aio.Outbox(other)]
                    for outbox in outboxes:
                        await outbox.start()
                    for _ in range(4):
                        for outbox in outboxes:
                            async with outbox.transaction() as transaction:
                                await transaction.send(unique_name, b"x")
                                await transaction.send(unique_name, b"y")
                    if not number:
                        await relay.start()
                    while await relay.round():
                        pass

    asyncio.run(main())
    assert values(servers, unique_name) == [b"x", b"y"] * 24


@pytest.mark.parametrize("driver", ["psycopg"])
def test_no_statement_is_prepared_on_a_psycopg_connection(address: str) -> None:
    with psycopg.connect(address) as connection:
        outbox = atomic.Outbox(connection)
        outbox.start()
        for _ in range(8):
            with outbox.transaction() as transaction:
                transaction.send("t", b"x")
        assert connection.prepare_threshold == 5, "the program's own statements are prepared as before"
        assert connection.execute("SELECT name FROM pg_prepared_statements").fetchall() == []


@pytest.mark.parametrize("autocommit", [False, True])
@pytest.mark.parametrize("driver", ["psycopg"])
def test_a_block_that_continues_after_a_failed_statement_commits_nothing(
    address: str, oncelog_broker: RunningBroker, autocommit: bool
) -> None:
    """PostgreSQL answers its COMMIT with ROLLBACK, and psycopg says nothing."""
    with psycopg.connect(address, autocommit=autocommit) as connection:
        outbox = atomic.Outbox(connection)
        outbox.start()

        def goes_on() -> None:
            with outbox.transaction():
                connection.execute("INSERT INTO items VALUES ('lost')")
                with contextlib.suppress(psycopg.errors.DivisionByZero):
                    connection.execute("SELECT 1 / 0")

        with pytest.raises(atomic.AtomicError, match="nothing was committed"):
            goes_on()
        with outbox.transaction() as transaction:
            connection.execute("INSERT INTO items VALUES ('kept')")
            transaction.send("t", b"x")
    assert rows("psycopg", address) == ["kept"]


@pytest.mark.parametrize("driver", ["psycopg"])
def test_a_commit_refused_by_the_database_is_resolved_by_the_next_transaction(
    two_phase_broker: oncelog.Broker, address: str, unique_name: str
) -> None:
    servers = two_phase_broker.bootstrap_servers
    with psycopg.connect(address) as connection:
        connection.execute("ALTER TABLE items ADD CONSTRAINT once UNIQUE (item) DEFERRABLE INITIALLY DEFERRED")
        connection.commit()
        with oncelog.Producer(
            bootstrap_servers=servers, transactional_id=unique_name, two_phase_commit=True
        ) as producer:
            shop = atomic.RowsAndRecords(connection, producer)
            shop.start()
            for item in ("a", "a", "b"):
                try:
                    with shop.transaction() as transaction:
                        connection.execute("INSERT INTO items VALUES (%s)", (item,))
                        transaction.send(unique_name, item.encode())
                except psycopg.errors.UniqueViolation:
                    continue
    assert rows("psycopg", address) == ["a", "b"]
    assert values(servers, unique_name) == [b"a", b"b"]


@pytest.mark.parametrize("driver", ["psycopg"])
def test_a_role_without_permission_to_create_tables_uses_existing_tables(address: str, unique_name: str) -> None:
    with psycopg.connect(address) as connection:
        atomic.Outbox(connection).start()
        role = unique_name.replace("-", "_")
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        connection.execute(f"GRANT SELECT, INSERT ON oncelog_outbox TO {role}".encode())
        connection.execute(b"REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    with psycopg.connect(address.replace("user=tests", f"user={role}")) as connection:
        outbox = atomic.Outbox(connection)
        outbox.start()
        with outbox.transaction() as transaction:
            transaction.send("t", b"x")


@pytest.mark.kafka
def test_outbox_and_inbox_work_on_apache_kafka(apache_kafka: RunningBroker, tmp_path: Path, unique_name: str) -> None:
    servers = apache_kafka.bootstrap_servers
    database = sqlite3.connect(tmp_path / "shop.db")
    outbox = atomic.Outbox(database)
    outbox.start()
    for number in range(3):
        with outbox.transaction() as transaction:
            transaction.send(unique_name, b"%d" % number)
        with (
            oncelog.Producer(bootstrap_servers=servers, transactional_id=f"{unique_name}-relay") as producer,
            oncelog.Admin(bootstrap_servers=servers) as admin,
        ):
            relay = atomic.Relay(database, producer, admin)
            relay.start()
            assert [relay.round(), relay.round()] == [1, 0]
    with oncelog.Consumer(
        bootstrap_servers=servers,
        group_id=unique_name,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="none",
    ) as consumer:
        inbox = atomic.Inbox(outbox, consumer, [unique_name])
        inbox.start()
        found: list[bytes | None] = []
        while len(found) < 3:
            with inbox.transaction() as block:
                found += [record.value for record in block.records]
    assert found == [b"0", b"1", b"2"]


@pytest.mark.parametrize("driver", ["asyncpg", "psycopg", "psycopg-autocommit"])
def test_a_stalled_relay_that_holds_a_lock_does_not_block_the_next_relay(
    address: str, driver: str, oncelog_broker: RunningBroker, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was stopped (SIGSTOP), or has lost its network, in a transaction of the relay's row."""
    monkeypatch.setattr("oncelog.atomic.databases.STANDS_STILL_S", 1)
    servers = oncelog_broker.bootstrap_servers

    async def relays(database: Any, producer: Any, admin: Any) -> aio.Relay:
        relay = aio.Relay(database, producer, admin)
        await relay.start()
        return relay

    async def main() -> None:
        async with connected(driver, address) as first, connected(driver, address) as second:
            outbox = aio.Outbox(first)
            await outbox.start()
            async with outbox.transaction() as transaction:
                await transaction.send(unique_name, b"x")
            async with (
                Producer[Any, Any](bootstrap_servers=servers, transactional_id=unique_name) as one,
                Producer[Any, Any](bootstrap_servers=servers, transactional_id=unique_name) as another,
                Admin(bootstrap_servers=servers) as admin,
            ):
                stopped = await relays(first, one, admin)
                holds = stopped._holding()
                await holds.__aenter__()
                assert await (await relays(second, another, admin)).round() == 1
                with pytest.raises((psycopg.Error, asyncpg.PostgresConnectionError, asyncpg.InterfaceError)):
                    await holds.__aexit__(None, None, None)

    asyncio.run(main())
    assert values(servers, unique_name) == [b"x"]
