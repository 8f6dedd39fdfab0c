"""Java properties files, as Kafka's configuration files are written."""

from __future__ import annotations

import re
from collections.abc import Iterable

from oncelog.errors import ConfigError

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ENTRY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*(?:[=:][ \t\f]*)?(.*)", re.DOTALL)


def load_properties(text: str) -> dict[str, str]:
    """The pairs of a Java properties file (``java.util.Properties.load``): escapes, continued lines, comments.

    The last of several values of one name wins. A malformed ``\\uxxxx`` raises ConfigError with its line.
    """
    pairs: dict[str, str] = {}
    for number, line in _logical_lines(text):
        match = _ENTRY.fullmatch(line)
        if match is not None:
            name, value = (_unescaped(part, number) for part in match.groups())
            pairs[name] = value
    return pairs


def _logical_lines(text: str) -> Iterable[tuple[int, str]]:
    """Lines with continuations joined, without comments and blank ones; with the number of their first line."""
    joined, first = "", 0
    for number, natural in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        line = natural.lstrip(" \t\f")
        if not joined:
            if not line or line[0] in "#!":
                continue
            first = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        yield first, joined + line
        joined = ""
    if joined:
        yield first, joined


def _unescaped(text: str, line: int) -> str:
    def character(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        if escape == "u":
            raise ConfigError(f"line {line}: \\u takes four hexadecimal digits, as in \\u00e9")
        return _ESCAPES.get(escape, escape)

    return _ESCAPED.sub(character, text) if "\\" in text else text
