"""A PgBouncer in transaction mode before a PostgreSQL of the tests, on a socket in its folder; ended by its process id.

Its pool is small, so that one server's connection serves many clients one after another, each in the place of the last:
what a client leaves in the session, such as a prepared statement, is there for the next.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.support.children import ends_with_us
from tests.support.two_phase.postgres import Postgres, unprivileged

WHY_NOT = "needs pgbouncer on PATH (Debian: pgbouncer): make setup installs it where it may"
PORT = 6432
"""A part of the socket's name; nothing listens on it."""
POOL = 2
"""Connections to the server for each database."""


def program() -> str | None:
    return shutil.which("pgbouncer", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin")))


class PgBouncer:
    """``with PgBouncer(postgres) as pooler: psycopg.connect(pooler.before(postgres.new_database()))``."""

    def __init__(self, postgres: Postgres) -> None:
        self._server = conninfo_to_dict(postgres.address)
        self.folder = Path(tempfile.mkdtemp(prefix="oncelog-pgbouncer-"))
        self._log = self.folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def before(self, address: str) -> str:
        """The address of the same database, through the pooler."""
        return f"host={self.folder} port={PORT} dbname={conninfo_to_dict(address)['dbname']} user=tests"

    def __enter__(self) -> PgBouncer:
        found = program()
        if found is None:
            raise FileNotFoundError(WHY_NOT)
        settings = self.folder / "pgbouncer.ini"
        port = f" port={self._server['port']}" if "port" in self._server else ""
        settings.write_text(
            f"""[databases]
* = host={self._server["host"]}{port} user=tests
[pgbouncer]
pool_mode = transaction
default_pool_size = {POOL}
max_client_conn = 500
auth_type = any
listen_port = {PORT}
unix_socket_dir = {self.folder}
"""
        )
        user = unprivileged() if os.geteuid() == 0 else None  # it does not run as root
        if user is not None:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [found, str(settings)],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                user=None if user is None else user.pw_uid,
                cwd=self.folder,
            )
        ends_with_us(self._process.pid, self.folder)
        while self._process.poll() is None:
            try:
                psycopg.connect(self.before("dbname=postgres"), connect_timeout=60).close()
            except psycopg.OperationalError:
                continue
            return self
        raise RuntimeError(f"PgBouncer ended with {self._process.returncode}:\n{self._log.read_text(errors='replace')}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(60)
        shutil.rmtree(self.folder)
