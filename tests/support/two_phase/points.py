"""Points at which a program can be killed or stand still: before and after each call to a client or a database."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class Watched:
    """Calls ``point`` before and after every call to a client or to a database's port."""

    def __init__(self, inner: Any, point: Callable[[], None]) -> None:
        self._inner, self._point = inner, point

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        async def after(result: Any) -> Any:
            value = await result
            self._point()
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            self._point()
            result = found(*args, **kwargs)
            if inspect.isawaitable(result):
                return after(result)
            self._point()
            return result

        return call
