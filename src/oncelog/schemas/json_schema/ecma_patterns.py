"""Translates regular expressions of JSON Schema, which have JavaScript's syntax, to the syntax of Python's ``re``.
Pure.

Called by the JSON codec and by the registry. Java's registry accepts slightly more than JavaScript; syntax that neither
of them has is refused when a schema is registered, and syntax that only Python lacks (names of scripts) is not checked.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache

_PARTS = re.compile(
    r"""\\[pP]\{(?P<kind>\^?[\w=]+)\} | \\u\{(?P<point>[0-9A-Fa-f]{1,6})\} | \\k<(?P<back>\w+)> | (?P<end>\\z)
    | \(\?<(?P<group>[A-Za-z_]\w*)> | \\c(?P<control>[A-Za-z]) | \\(?P<set>[dwDW]) | \\.
    | (?P<open>\[\^?\]?) | (?P<close>\])""",
    re.VERBOSE | re.DOTALL,
)
_CATEGORIES = {"Letter": "L", "Mark": "M", "Number": "N", "Punctuation": "P", "Symbol": "S", "Separator": "Z"}
_ASCII = {"d": "0-9", "w": "A-Za-z0-9_"}
_ALIASES = {"Alpha": "L", "IsAlphabetic": "L", "IsL": "L", "Alphabetic": "L", "IsDigit": "Nd", "Digit": "Nd"}


class UncheckedPattern(Exception):
    """Python cannot express this regular expression."""


@lru_cache(maxsize=1_000)
def compiled(pattern: str) -> re.Pattern[str]:
    """The expression.

    :raises UncheckedPattern: it names a set of characters that Python does not know.
    :raises re.error: it is not a regular expression.
    """
    made: list[str] = []
    at, inside = 0, False
    for found in _PARTS.finditer(pattern):
        made.append(pattern[at : found.start()])
        at = found.end()
        made.append(_translated(found, inside=inside))
        if found["open"] is not None:
            inside = inside or not found["open"].endswith("]")
        elif found["close"] is not None:
            inside = False
    return re.compile("".join([*made, pattern[at:]]))


def _translated(found: re.Match[str], *, inside: bool) -> str:
    kind = found.lastgroup
    return found[0] if kind is None else _PYTHONS[kind](found[0], found[kind], inside)


def _characters(text: str, name: str, inside: bool) -> str:
    ranges = _ranges(name.removeprefix("^"), (text[1] == "P") != name.startswith("^"))
    return ranges if inside else f"[{ranges}]"


def _ascii(text: str, letter: str, inside: bool) -> str:
    characters = _ASCII[letter.lower()]
    if inside:
        return characters if letter.islower() else text
    return f"[{'' if letter.islower() else '^'}{characters}]"


def _opened(text: str, _: str, inside: bool) -> str:
    if inside:
        return text.replace("[", r"\[", 1)
    return {"[]": "(?!)", "[^]": r"[\s\S]"}.get(text, text)  # nothing, and everything


_PYTHONS: Mapping[str, Callable[[str, str, bool], str]] = {
    "kind": _characters,
    "point": lambda text, digits, inside: f"\\U{int(digits, 16):08x}",
    "back": lambda text, name, inside: f"(?P={name})",
    "end": lambda text, found, inside: r"\Z",
    "control": lambda text, letter, inside: f"\\x{ord(letter) % 32:02x}",
    "set": _ascii,
    "group": lambda text, name, inside: text if inside else f"(?P<{name}>",
    "open": _opened,
    "close": lambda text, found, inside: text,
}


@lru_cache(maxsize=100)
def _ranges(name: str, negated: bool) -> str:
    """The characters of a general category, or all other characters, in the syntax of a character class.

    :raises UncheckedPattern: it is another set of characters.
    """
    name = name.removeprefix("gc=").removeprefix("General_Category=")
    wanted = _CATEGORIES.get(name) or _ALIASES.get(name, name)
    if not re.fullmatch("[LMNPSZC][a-z]?", wanted):
        raise UncheckedPattern(name)
    found: list[tuple[int, int]] = []
    for point in range(sys.maxunicode + 1):
        if unicodedata.category(chr(point)).startswith(wanted) != negated:
            if found and found[-1][1] == point - 1:
                found[-1] = found[-1][0], point
            else:
                found.append((point, point))
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in found)
