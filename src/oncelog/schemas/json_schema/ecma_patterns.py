"""Regular expressions of JSON Schema: translated from JavaScript's syntax to that of the library ``regex``, which can
limit the time of a search.

Called by the JSON codec and by the registry. Java's registry accepts slightly more than JavaScript. Syntax that neither
of them has is refused when a schema is registered; names of characters that only Java has are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

import regex

MAX_SECONDS: Final = 1.0
"""Limit on the time of one search: an expression that backtracks can take years for thirty letters."""

_PARTS = re.compile(
    r"""\\(?P<kind>[pP](?:\{\^?[\w=]+\}|[LMNPSZC])) | \\u\{(?P<point>[0-9A-Fa-f]{1,6})\} | \\k<(?P<back>\w+)>
    | (?P<end>\\z) | \(\?<(?P<group>[A-Za-z_]\w*)> | \\c(?P<control>[A-Za-z]) | \\(?P<set>[dwDW]) | \\.
    | (?P<open>\[\^?\]?) | (?P<close>\]) | (?P<brace>\{(?!\d+(?:,\d*)?\}))""",
    re.VERBOSE | re.DOTALL,
)
_ASCII = {"d": "0-9", "w": "A-Za-z0-9_"}


class UncheckedPattern(Exception):
    """Python cannot express this regular expression."""


class SlowPattern(Exception):
    """The search for this regular expression has taken :data:`MAX_SECONDS`."""


def is_found(pattern: str, text: str) -> bool:
    """Whether a part of the text matches the expression. Other threads run during the search.

    :raises UncheckedPattern: the expression names a set of characters that Python does not know.
    :raises SlowPattern: the search takes too long.
    :raises re.error: it is not a regular expression.
    """
    try:
        return compiled(pattern).search(text, timeout=MAX_SECONDS, concurrent=True) is not None
    except TimeoutError:
        raise SlowPattern(
            f"the search for the regular expression {pattern!r} in {text[:80]!r} takes longer than {MAX_SECONDS:g} s: "
            "write the expression without repetitions inside of repetitions"
        ) from None


@lru_cache(maxsize=1_000)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a regular expression of JSON Schema.

    :raises UncheckedPattern: it names a set of characters that Python does not know.
    :raises re.error: it is not a regular expression.
    """
    made: list[str] = []
    known: list[str] = []
    at, inside = 0, False
    for found in _PARTS.finditer(pattern):
        made += pattern[at : found.start()], _translated(found, inside=inside)
        known += made[-2], r"\w" if found["kind"] else made[-1]
        at = found.end()
        if found["open"] is not None:
            inside = inside or not found["open"].endswith("]")
        elif found["close"] is not None:
            inside = False
    # ``regex`` accepts syntax that neither JavaScript nor Java has, and ``re`` refuses this syntax: ``re`` checks the
    # expression first. Because ``re`` does not know ``\p{...}``, ``\w`` replaces each.
    re.compile("".join([*known, pattern[at:]]))
    try:
        return regex.compile("".join([*made, pattern[at:]]))
    except regex.error as error:
        raise UncheckedPattern(str(error)) from error


def _translated(found: re.Match[str], *, inside: bool) -> str:
    kind = found.lastgroup
    return found[0] if kind is None else _PYTHONS[kind](found[0], found[kind], inside)


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
    "kind": lambda text, name, inside: text,
    "point": lambda text, digits, inside: f"\\U{int(digits, 16):08x}",
    "back": lambda text, name, inside: f"(?P={name})",
    "end": lambda text, found, inside: r"\Z",
    "control": lambda text, letter, inside: f"\\x{ord(letter) % 32:02x}",
    "set": _ascii,
    "group": lambda text, name, inside: text if inside else f"(?P<{name}>",
    "open": _opened,
    "close": lambda text, found, inside: text,
    "brace": lambda text, found, inside: r"\{",
}
