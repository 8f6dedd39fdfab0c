"""What a search in records looks for: text in keys and values, and JSON paths (RFC 9535). Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from oncelog.console.decoding import NOTHING, Decoding
from oncelog.errors import ConfigError
from oncelog.records.record import Record

MOST_PATH = 500
_SLOW = re.compile(r"\b(match|search)\s*\(")


@dataclass(frozen=True, slots=True)
class Search:
    """What a record must have, each where it is given.

    :param key: a part of the key; ``0x...`` are bytes.
    :param text: a part of the value.
    :param path: a JSON path that the value has.
    :param equals: what the path leads to, as text.
    """

    key: bytes | None = None
    text: bytes | None = None
    path: Any = None
    equals: str | None = None

    @classmethod
    def parse(cls, key: str, text: str, path: str, equals: str) -> Search:
        """:raises ConfigError: the path is none."""
        if equals and not path:
            raise ConfigError(f"the value {equals!r} needs a JSON path that leads to it, such as $.order.id")
        return cls(_needle(key), _needle(text), _compiled(path) if path else None, equals or None)

    def __bool__(self) -> bool:
        return self != Search()

    def finds(self, record: Record, decoding: Decoding) -> bool:
        """Whether a record is wanted."""
        if self.key is not None and (record.key is None or self.key not in record.key):
            return False
        if self.text is not None and (record.value is None or self.text not in record.value):
            return False
        return self.path is None or self._leads_somewhere(decoding.parsed(record))

    def _leads_somewhere(self, value: Any) -> bool:
        if value is NOTHING:
            return False
        from jsonpath_rfc9535 import JSONPathError

        try:
            found = self.path.find(value).values()
        except (JSONPathError, RecursionError):
            return False  # a value that nests deeper than a path may follow
        return bool(found) if self.equals is None else any(_text(one) == self.equals for one in found)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _needle(text: str) -> bytes | None:
    if text.startswith("0x"):
        try:
            return bytes.fromhex(text[2:])
        except ValueError:
            raise ConfigError(f"bytes are written as pairs of hex digits, such as 0x00ff, not {text!r}") from None
    return text.encode() if text else None


def _compiled(path: str) -> Any:
    from jsonpath_rfc9535 import JSONPathError, compile

    if len(path) > MOST_PATH or path.count("..") > 2 or _SLOW.search(path):
        raise ConfigError(
            f"a JSON path here has at most {MOST_PATH} characters and two '..', and no match() or search(): a search "
            "must not stop the console for others"
        )
    whole = path if path.startswith("$") else f"$.{path}"
    try:
        return compile(whole)
    except JSONPathError as error:
        raise ConfigError(
            f"a JSON path is written such as $.order.id or $.items[*].price, not {path!r}: {error.args[0]}"
        ) from error
