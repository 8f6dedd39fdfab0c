"""A row in a database and a record in a log, both or neither, without an outbox (two-phase commit, KIP-939)."""

import sqlite3

import oncelog
from oncelog import atomic


def sell(servers: str, path: str, item: str) -> None:
    """An order as a row, and as a record."""
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, item TEXT)")
    with oncelog.Producer(bootstrap_servers=servers, transactional_id="shop-1", two_phase_commit=True) as producer:
        shop = atomic.RowsAndRecords(database, producer)
        shop.start()
        with shop.transaction() as transaction:
            database.execute("INSERT INTO orders (item) VALUES (?)", (item,))
            transaction.send("orders", item.encode())
    database.close()


if __name__ == "__main__":
    with oncelog.Broker(settings={"transaction.two.phase.commit.enable": True}) as broker:
        sell(broker.bootstrap_servers, "shop.db", "tea")
