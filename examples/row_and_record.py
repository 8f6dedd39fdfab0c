"""A row in a database and a record in a log, both or neither, without an outbox (two-phase commit, KIP-939)."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from oncelog.client.blocking import Producer
from oncelog.client.errors import FatalProducerError

TABLE = """
CREATE TABLE IF NOT EXISTS prepared_tokens (
    transactional_id VARCHAR(249) PRIMARY KEY, writer VARCHAR(32) NOT NULL, token VARCHAR(32) NOT NULL
)"""


class Superseded(Exception):
    """Another instance writes now; this one is to end."""


class RowsAndRecords:
    """Writes rows through any DB-API connection, and records, as one transaction.

    The table says which instance writes, and the token of its last transaction that the database has committed.
    """

    def __init__(self, producer: Producer, database: Any, placeholder: str = "?") -> None:
        """:param placeholder: ``?`` for sqlite3, ``%s`` for psycopg."""
        self.producer, self.database, self._placeholder = producer, database, placeholder
        self._name = producer.config.transactional_id
        self._me = uuid4().hex

    def start(self) -> None:
        """Shut earlier instances out, in the log and in the database; then end what they have prepared."""
        self.producer.start()
        self.execute(TABLE)
        self.execute("INSERT INTO prepared_tokens VALUES (?, '', '') ON CONFLICT DO NOTHING", self._name)
        self.execute("UPDATE prepared_tokens SET writer = ? WHERE transactional_id = ?", self._me, self._name)
        (token,) = self.execute("SELECT token FROM prepared_tokens WHERE transactional_id = ?", self._name).fetchone()
        self.database.commit()
        self.producer.complete(token)

    def execute(self, statement: str, *values: Any) -> Any:
        cursor = self.database.cursor()
        cursor.execute(statement.replace("?", self._placeholder), values)
        return cursor

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What the block executes and what it sends takes effect together."""
        self.producer.begin_transaction()
        try:
            yield
            token = self.producer.prepare()
            own = "UPDATE prepared_tokens SET token = ? WHERE transactional_id = ? AND writer = ?"
            if self.execute(own, token, self._name, self._me).rowcount != 1:
                raise Superseded(f"another instance writes as {self._name!r} now")
        except BaseException:
            self.database.rollback()
            with suppress(FatalProducerError):  # then a later instance has ended it
                self.producer.abort_transaction()
            raise
        self.database.commit()  # the decision. Where its outcome is lost, the next start() asks the database
        self.producer.complete(token)
