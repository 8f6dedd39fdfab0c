"""Which event loop the shells run on: uvloop where it is installed (extra ``speed``), else asyncio's own."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A fresh loop that is not set as anybody's current one."""
    if find_spec("uvloop") is not None:
        import uvloop

        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        return loop
    return asyncio.new_event_loop()
