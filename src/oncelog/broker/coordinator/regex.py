"""Matches clients' regular expressions, in RE2's syntax. Apache Kafka's RE2/J has the same syntax, and also matches in
linear time.

A SubscribedTopicRegex and the filter of ListTransactions are matched on the thread that serves all clients, so the size
of an expression and all the work that it may cause are limited. An expression must match the whole name. Called by
``consumer_draft``, ``consumer_protocol``, ``transaction_coordinator`` and ``config_changes``.

The library google-re2 is the extra ``oncelog[regex]``, because it has no wheels for some platforms (musl, free-threaded
Python), and is imported with the first expression. Without it, every expression is refused.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

MAX_TEXT: Final = 6_000
"""Limit on the length of an expression, in characters."""
MAX_BYTES: Final = 256 * 1024
"""Limit in bytes on the memory of an expression; its program gets two thirds of it, about 10,000 instructions."""
MAX_WORK: Final = 50_000_000
"""Limit on instructions times characters, for all names together. One instruction on one character takes 4 ns at worst,
if there are too many states to cache; usually a character takes a few nanoseconds, however long the expression is."""
WORK_IN_A_CHUNK: Final = 500_000

__all__ = ["InvalidRegex", "LinearRegex"]


class InvalidRegex(ValueError):
    """The expression is invalid in RE2, too large, or takes too much work to match; the exception's text is the message
    for the client."""


class LinearRegex:
    """A compiled expression. Construction and :meth:`matches` raise ``InvalidRegex``, the latter if matching takes too
    much work."""

    def __init__(self, text: str) -> None:
        try:
            import re2  # imported here, because a start of the broker does not need it
        except ImportError:
            raise InvalidRegex(
                f"`{_short(text)}` cannot be matched by this broker: install google-re2 there (pip install "
                "'oncelog[regex]')."
            ) from None
        if len(text) > MAX_TEXT:
            raise _invalid(text, f"it has {len(text)} characters, and at most {MAX_TEXT} are allowed")
        options = re2.Options()
        options.log_errors = False
        options.max_mem = MAX_BYTES
        try:
            self._pattern = re2.compile(text, options)
        except re2.error as error:
            raise _invalid(text, error.args[0].decode("utf-8", "replace")) from None
        self._text = text
        self._size = self._pattern.programsize
        self._work = 0
        self._pause_at = WORK_IN_A_CHUNK

    def matches(self, name: str) -> bool:
        """Whether the whole of ``name`` matches."""
        self._work += self._size * (len(name) + 1)
        if self._work > MAX_WORK:
            raise InvalidRegex(f"`{_short(self._text)}` takes too much work to match.")
        return self._pattern.fullmatch(name) is not None

    def matching(self, name: str) -> Generator[None, None, bool]:
        """Like :meth:`matches`, but a generator that pauses whenever a certain amount of work is done; the work is
        counted across names."""
        found = self.matches(name)
        if self._work >= self._pause_at:
            self._pause_at = self._work + WORK_IN_A_CHUNK
            yield
        return found


def _invalid(text: str, reason: str) -> InvalidRegex:
    return InvalidRegex(f"`{_short(text)}` is not a valid regular expression: {_short(reason)}.")


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."
