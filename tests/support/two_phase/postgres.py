"""A PostgreSQL of the test's own, on a socket in its folder; ended by its process id.

The folder is not one of pytest's: PostgreSQL does not run as root, and every pytest that starts closes root's folders
to other users.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import psycopg
from psycopg.sql import SQL, Identifier

from tests.support.children import ends_with_us

WHY_NOT = "needs PostgreSQL's initdb and postgres on PATH (Debian: postgresql)"


def programs() -> tuple[str, str] | None:
    """initdb and postgres, or None."""
    places = [os.environ.get("PATH", ""), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))]
    found = [shutil.which(name, path=os.pathsep.join(places)) for name in ("initdb", "postgres")]
    return (found[0], found[1]) if found[0] and found[1] else None


class Postgres:
    """``with Postgres() as postgres: psycopg.connect(postgres.address)``.

    :param port: it listens there on 127.0.0.1 too, for programs that know no sockets of files; 0: it does not.
    """

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.folder = Path(tempfile.mkdtemp(prefix="oncelog-postgres-"))
        self._data = self.folder / "data"
        self._log = self.folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._empty: list[str] = []
        self._user = unprivileged() if os.geteuid() == 0 else None

    @property
    def address(self) -> str:
        return self._address("postgres")

    def _address(self, name: str) -> str:
        at = f" port={self.port}" if self.port else ""
        return f"host={self._data} dbname={name} user=tests{at}"

    def new_database(self) -> str:
        """The address of an empty database."""
        return self._address(self._new_name())

    def _new_name(self) -> str:
        name = f"d{uuid.uuid4().hex}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return name

    @contextmanager
    def lent_database(self) -> Iterator[str]:
        """The address of an empty database, which is emptied afterwards and lent again: a new one writes 300 files."""
        name = self._empty.pop() if self._empty else self._new_name()
        yield self._address(name)
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} RESET ALL")
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        with psycopg.connect(self._address(name), autocommit=True) as connection:
            made = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
            for (schema,) in connection.execute(made).fetchall():
                connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(schema)))
            of_15 = connection.info.server_version >= 150_000
            connection.execute(f"CREATE SCHEMA public {'AUTHORIZATION pg_database_owner' if of_15 else ''}")
            connection.execute(f"GRANT {'USAGE' if of_15 else 'ALL'} ON SCHEMA public TO PUBLIC")
        self._empty.append(name)

    def __enter__(self) -> Postgres:
        found = programs()
        if found is None:
            raise FileNotFoundError(WHY_NOT)
        initdb, postgres = found
        self._data.mkdir()
        if self._user is not None:  # PostgreSQL does not run as root
            for path in (self.folder, self._data):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)
        own = ["-D", str(self._data), "-U", "tests", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8"]
        self._run([initdb, *own])
        listens = ["listen_addresses=127.0.0.1", f"port={self.port}"] if self.port else ["listen_addresses="]
        settings = [
            *listens,
            f"unix_socket_directories={self._data}",
            "fsync=off",
            "shared_buffers=16MB",
            "autovacuum=off",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [postgres, "-D", str(self._data), *(word for setting in settings for word in ("-c", setting))],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                user=None if self._user is None else self._user.pw_uid,
                cwd=self._data,
            )
        ends_with_us(self._process.pid, self.folder)
        self._await_ready(self._process)
        return self

    def _run(self, command: list[str]) -> None:
        ended = subprocess.run(
            command,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            user=None if self._user is None else self._user.pw_uid,
            cwd=self._data,
        )
        if ended.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {ended.returncode}:\n{ended.stdout}")

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        while process.poll() is None:
            try:
                psycopg.connect(self.address, connect_timeout=60).close()
            except psycopg.OperationalError:
                continue
            return
        raise RuntimeError(f"PostgreSQL ended with {process.returncode}:\n{self._log.read_text(errors='replace')}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)  # at once; nobody needs its data again
            self._process.wait(60)
        shutil.rmtree(self.folder)


def unprivileged() -> pwd.struct_passwd:
    """Whose programs refuse to run as root."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
