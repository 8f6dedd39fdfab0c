"""Java properties files, as Kafka's configuration files are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from oncelog.errors import ConfigError

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE_OF = {character: f"\\{letter}" for letter, character in _ESCAPES.items()} | {"\\": "\\\\"}
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

    if "\\" not in text:
        return text
    # two Unicode escapes may be the halves of one character
    return _ESCAPED.sub(character, text).encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def dump_properties(pairs: Mapping[str, str]) -> str:
    """A Java properties file with these pairs, in ASCII: ``Properties.load`` reads Latin-1."""
    return "".join(f"{_escaped(name, ' =:#!')}={_escaped(value, '')}\n" for name, value in pairs.items())


def _escaped(text: str, separators: str) -> str:
    def character(found: str) -> str:
        if found in _ESCAPE_OF:
            return _ESCAPE_OF[found]
        if found in separators:
            return f"\\{found}"
        if " " <= found <= "~":
            return found
        return "".join(f"\\u{unit:04x}" for unit in _utf16(found))

    body = "".join(map(character, text))
    return f"\\{body}" if body.startswith(" ") else body


def _utf16(character: str) -> tuple[int, ...]:
    units = character.encode("utf-16-be", "surrogatepass")
    return tuple(int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
