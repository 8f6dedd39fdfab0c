"""A console in a thread of this process, for tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from oncelog.apps.console.app import serve
from oncelog.apps.console.console_settings import ConsoleSettings

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Programs to show pages with; the first that is installed is used.

The headless shell takes a third of the CPU time.
"""
TOKEN = "a-token-for-tests"
SECONDS = 300


class RunningConsole:
    """A console in a thread of this process."""

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        allow_changes: bool = True,
        shared_login: bool = False,
        hosts: frozenset[str] = frozenset(),
        schema_registry: Mapping[str, str] | None = None,
    ) -> None:
        self.settings = ConsoleSettings(properties, allow_changes, shared_login, hosts, TOKEN, schema_registry or {})
        self.url = ""
        self._listening = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        try:
            await serve(self.settings, "127.0.0.1", 0, self._announce, self._ended)
        finally:
            self._listening.set()

    def _announce(self, url: str) -> None:
        self.url = url
        self._listening.set()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._listening.wait(SECONDS)
        assert self.url
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        assert self._ended is not None
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
