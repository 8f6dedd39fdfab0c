"""The FastStream service of ``examples``; each third order fails the first time, when its invoice is published."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from faststream import BaseMiddleware

from examples import faststream_once as service

_failed: set[int] = set()


class Failing(BaseMiddleware[Any, Any]):
    async def publish_scope(self, call_next: Callable[[Any], Awaitable[Any]], cmd: Any) -> Any:
        published = await call_next(cmd)
        order = cmd.body.order
        if order % 3 == 0 and order not in _failed:
            _failed.add(order)
            raise ArithmeticError(f"order {order}")
        return published


service.broker.add_middleware(Failing)
service.PAUSE_S = 0

if __name__ == "__main__":
    asyncio.run(service.app.run())
