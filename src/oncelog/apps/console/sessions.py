"""The sessions of visitors, and each visitor's connection to the cluster.

A visitor is identified by a random cookie. If the broker requires a login, each session has its own connection, opened
with that user's credentials, and the broker decides what the user may do. Otherwise all sessions share one. Sessions
are kept in memory and end after ``IDLE_SECONDS`` without a request.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field

from oncelog.apps.console.avro import PastedSchema
from oncelog.apps.console.readers import GroupReaders
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import Producers
from oncelog.client.core.config import AdminConfig
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time

IDLE_SECONDS = 8 * 3600
MAX_SESSIONS = 1000


class Link:
    """A visitor's connection to the cluster, and its settings. It is opened when first needed; after a failure, the
    next use tries again."""

    def __init__(self, config: AdminConfig) -> None:
        self.config = config
        self._admin: Admin | None = None
        self._producers: Producers | None = None
        self.groups = GroupReaders()
        self._lock = asyncio.Lock()

    async def admin(self) -> Admin:
        """The connected admin client.

        :raises KafkaError: no broker answers, or the login is refused.
        """
        async with self._lock:
            if self._admin is None:
                admin = Admin(config=self.config)
                await admin.start()
                self._admin, self._producers = admin, Producers(admin)
            return self._admin

    async def producers(self) -> Producers:
        """A cache of the transactional ids by producer id, which sends its requests on this connection."""
        await self.admin()
        if self._producers is None:
            raise RuntimeError("the connection was closed while its producers were listed")
        return self._producers

    async def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        async with self._lock:
            admin, self._admin, self._producers = self._admin, None, None
        if admin is not None:
            await admin.close()


@dataclass(slots=True)
class ConsoleSession:
    """The session of one browser.

    :param link: None until the visitor has logged in, if a login is required.
    :param flash: the result of the last action, shown on the next page.
    :param schemas: Avro schemas by topic, as entered by the visitor.
    """

    id: str
    csrf: str
    link: Link | None
    user: str | None = None
    seen: float = 0.0
    flash: str | None = None
    schemas: dict[str, PastedSchema] = field(default_factory=dict)


class Sessions:
    """All sessions, the least recently used first."""

    def __init__(self, shared: Link | None) -> None:
        self._shared = shared
        self._known: OrderedDict[str, ConsoleSession] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def find(self, cookie: str | None) -> ConsoleSession | None:
        """The session of a cookie, if the cookie is still valid."""
        self._forget_old()
        session = self._known.get(cookie or "")
        if session is not None:
            session.seen = real_time.monotonic()
            self._known.move_to_end(session.id)
        return session

    def knows(self, session: ConsoleSession) -> bool:
        """Whether a session still exists: neither logged out nor expired."""
        return self._known.get(session.id) is session

    def begin(self, link: Link | None = None, user: str | None = None) -> ConsoleSession:
        """Begin a session, with the visitor's own connection if the visitor has logged in; at the limit, another
        session is ended."""
        while len(self._known) >= MAX_SESSIONS:
            # Sessions without a login end first, so that requests without a cookie cannot end a session with a login.
            oldest = next(iter(self._known.values()))
            self.end(next((one for one in self._known.values() if one.user is None), oldest))
        session = ConsoleSession(
            secrets.token_urlsafe(32), secrets.token_urlsafe(32), link or self._shared, user, real_time.monotonic()
        )
        self._known[session.id] = session
        return session

    def end(self, session: ConsoleSession) -> None:
        """Log out: the cookie becomes invalid and the connection is closed."""
        self._known.pop(session.id, None)
        if session.link is not None and session.link is not self._shared:
            task = asyncio.get_running_loop().create_task(session.link.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all connections."""
        links = {session.link for session in self._known.values()} | {self._shared}
        self._known.clear()
        await asyncio.gather(*(link.close() for link in links if link is not None), *self._closing)

    def _forget_old(self) -> None:
        limit = real_time.monotonic() - IDLE_SECONDS
        while self._known and next(iter(self._known.values())).seen < limit:
            self.end(next(iter(self._known.values())))
