"""Opens the database that an address names, and reads the rows of the tests from it."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

import psycopg


class Opened(NamedTuple):
    connection: Any
    placeholder: str


def open_database(address: str, wait_s: float = 60) -> Opened:
    """``sqlite:PATH``, or an address that libpq accepts.

    :param wait_s: how long to wait for a lock that somebody holds.
    """
    kind, _, path = address.partition(":")
    if kind == "sqlite":
        return Opened(sqlite3.connect(path, timeout=wait_s), "?")
    connection = psycopg.connect(address, options=f"-c lock_timeout={int(wait_s * 1000)}")
    return Opened(connection, "%s")


def make_tables(address: str) -> None:
    """The programs' own rows; ``oncelog.atomic`` creates its tables itself."""
    connection = open_database(address).connection
    connection.cursor().execute("CREATE TABLE orders (number INTEGER PRIMARY KEY)")
    connection.cursor().execute("CREATE TABLE taken (partition_number INTEGER, number INTEGER)")
    connection.commit()
    connection.close()


def rows(address: str) -> list[int]:
    connection = open_database(address).connection
    cursor = connection.cursor()
    cursor.execute("SELECT number FROM orders ORDER BY number")
    found = [number for (number,) in cursor.fetchall()]
    connection.close()
    return found
