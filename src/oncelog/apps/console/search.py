"""Searches records for text in keys and values, and for JSON paths (RFC 9535). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from oncelog.apps.console.decoding import NOTHING, RecordDecoding
from oncelog.errors import ConfigError
from oncelog.records.record import Record
from oncelog.runtime import real_json as json

MAX_PATH = 500
MAX_VISITS = 100_000
"""The maximum number of places in one value that a path may visit; values that need more are skipped."""
_SLOW = re.compile(r"\b(match|search)\s*\(")


class _TooManyVisits(Exception):
    """A path would visit more places of one value than allowed."""


class _VisitLimit:
    """The number of places that a path may still visit."""

    left = 0

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise _TooManyVisits


class _CountedSelector:
    """A selector of a path that counts the places that it visits, because nested selectors and filters could multiply
    them without limit."""

    def __init__(self, selector: Any, visits: _VisitLimit) -> None:
        self._selector = selector
        self._visits = visits

    def resolve(self, node: Any) -> Iterator[Any]:
        self._visits.take(1 + (len(node.value) if isinstance(node.value, list | dict) and self._looks_at_all else 0))
        for found in self._selector.resolve(node):
            self._visits.take(1)
            yield found

    @property
    def _looks_at_all(self) -> bool:
        """Whether the selector is a filter, which is evaluated for every child of a node, so that each child counts."""
        return hasattr(self._selector, "expression")


class Path:
    """A compiled path that visits at most ``visits.left`` places of a value."""

    def __init__(self, query: Any) -> None:
        self.query = query
        self.visits = _VisitLimit()
        self._count(query)

    def _count(self, query: Any) -> None:
        for segment in query.segments:
            for selector in segment.selectors:
                if hasattr(selector, "expression"):
                    self._look(selector.expression)
            segment.selectors = tuple(_CountedSelector(selector, self.visits) for selector in segment.selectors)

    def _look(self, expression: Any) -> None:
        """Find the paths inside a filter's expression, and let them count their visits, too."""
        if hasattr(expression, "query"):
            self._count(expression.query)
        for name in ("expression", "left", "right"):
            if hasattr(expression, name):
                self._look(getattr(expression, name))
        for argument in getattr(expression, "args", ()):
            self._look(argument)


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """The conditions that a record must meet; None is ignored.

    :param key: a part of the key; ``0x...`` means bytes.
    :param text: a part of the value.
    :param path: a JSON path that must exist in the value.
    :param equals: the value at the path, as text.
    """

    key: bytes | None = None
    text: bytes | None = None
    path: Path | None = None
    equals: str | None = None

    @classmethod
    def parse(cls, key: str, text: str, path: str, equals: str) -> RecordFilter:
        """The filter that the form's fields describe.

        :raises ConfigError: the path is not valid, or a value is given without a path.
        """
        if equals and not path:
            raise ConfigError(f"the value {equals!r} needs a JSON path that leads to it, such as $.order.id")
        return cls(_needle(key), _needle(text), _compiled(path) if path else None, equals or None)

    def __bool__(self) -> bool:
        return self != RecordFilter()

    def finds(self, record: Record, decoding: RecordDecoding) -> bool:
        """Whether a record matches."""
        if self.key is not None and (record.key is None or self.key not in record.key):
            return False
        if self.text is not None and (record.value is None or self.text not in record.value):
            return False
        return self.path is None or self._leads_somewhere(self.path, decoding.parsed(record))

    def _leads_somewhere(self, path: Path, value: Any) -> bool:
        if value is NOTHING:
            return False
        from jsonpath_rfc9535 import JSONPathError

        path.visits.left = MAX_VISITS
        try:
            found = (node.value for node in path.query.finditer(value))
            return any(self.equals is None or _text(one) == self.equals for one in found)
        except (JSONPathError, RecursionError, _TooManyVisits):
            return False  # the value nests deeper than a path may go, or the search has visited too many places


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _needle(text: str) -> bytes | None:
    if text.startswith("0x"):
        try:
            return bytes.fromhex(text[2:])
        except ValueError:
            raise ConfigError(f"bytes must be pairs of hex digits, such as 0x00ff, not {text!r}") from None
    return text.encode() if text else None


def _compiled(path: str) -> Path:
    from jsonpath_rfc9535 import JSONPathError, compile

    if len(path) > MAX_PATH or path.count("..") > 2 or _SLOW.search(path):
        raise ConfigError(
            f"a JSON path may have at most {MAX_PATH} characters and two '..', and no match() or search(): a search "
            "must not stop the console for others"
        )
    whole = path if path.startswith("$") else f"$.{path}"
    try:
        return Path(compile(whole))
    except RecursionError:
        raise ConfigError(f"the JSON path {path!r} nests too deeply") from None
    except JSONPathError as error:
        raise ConfigError(
            f"a JSON path is written like $.order.id or $.items[*].price, not {path!r}: {error.args[0]}"
        ) from error
