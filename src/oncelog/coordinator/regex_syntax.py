"""Parses an expression in the syntax of RE2 into a tree. Called only by ``regex``.

What takes long to parse is limited here; what takes long to compile or to match is limited in ``regex``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

MAX_REPEAT = 1000
"""For nested repetitions: limit on the product of their counts, as in RE2/J."""
MAX_DEPTH = 100
MAX_PARTS = 3_000
"""Branches, groups, classes and repetitions: each takes microseconds to parse. A run of plain characters counts as
one."""
MAX_FOREIGN = 256
"""Different non-ASCII characters in one expression."""

OTHER = 128
_ALL = (1 << (OTHER + 1 + MAX_FOREIGN)) - 1
_NEWLINE = 1 << ord("\n")


def _chars(text: str) -> int:
    mask = 0
    for char in text:
        mask |= 1 << min(ord(char), OTHER)
    return mask


def _range(first: str, last: str) -> int:
    low, high = min(ord(first), OTHER), min(ord(last), OTHER)
    return ((1 << (high - low + 1)) - 1) << low


_ASCII = frozenset(map(chr, range(OTHER)))
BEYOND = chr(OTHER)
_DIGIT = _range("0", "9")
_LOWER, _UPPER = _range("a", "z"), _range("A", "Z")
WORD = _DIGIT | _LOWER | _UPPER | _chars("_")
_SPACE = _chars("\t\n\f\r ")
_PERL = {"d": _DIGIT, "w": WORD, "s": _SPACE, "D": _ALL ^ _DIGIT, "W": _ALL ^ WORD, "S": _ALL ^ _SPACE}
_POSIX = {
    "alnum": _DIGIT | _LOWER | _UPPER,
    "alpha": _LOWER | _UPPER,
    "ascii": (1 << OTHER) - 1,
    "blank": _chars("\t "),
    "cntrl": _range("\0", "\x1f") | _chars("\x7f"),
    "digit": _DIGIT,
    "graph": _range("!", "~"),
    "lower": _LOWER,
    "print": _range(" ", "~"),
    "punct": _range("!", "/") | _range(":", "@") | _range("[", "`") | _range("{", "~"),
    "space": _SPACE | _chars("\v"),
    "upper": _UPPER,
    "word": WORD,
    "xdigit": _DIGIT | _range("a", "f") | _range("A", "F"),
}
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_MOST_DIGITS = 9


class InvalidRegex(Exception):
    """The expression is not valid in RE2, or too large; the text says what is wrong."""


@dataclass(slots=True, eq=False)
class Node:
    """``char``, ``place``, ``cat``, ``alt``, ``repeat`` (of its only child, ``low`` to ``high`` times, -1 forever)."""

    kind: str
    children: tuple[Node, ...] = ()
    mask: int = 0
    place: str = ""
    low: int = 0
    high: int = 0
    repeats: int = 1
    """The largest product of counts of nested repetitions."""


_EMPTY = Node("cat")
_PLAIN = re.compile(r"[^\\.+*?()|\[{^$]+")
"""Characters that stand for themselves and can be taken without examining the next one."""


def _together(kind: str, children: list[Node]) -> Node:
    return Node(kind, tuple(children), repeats=max((child.repeats for child in children), default=1))


class _Flags(NamedTuple):
    ignore_case: bool = False
    multi_line: bool = False
    dot_all: bool = False


class Parser:
    """Recursive descent over the expression's text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._flags = _Flags()
        self._depth = 0
        self.foreign = {char: OTHER + 1 + index for index, char in enumerate(sorted(set(text) - _ASCII))}
        """The bits of the non-ASCII characters that the expression names."""
        if len(self.foreign) > MAX_FOREIGN:
            raise self.error("too many different characters beyond ASCII")
        self._parts = 0
        self.has_places = False
        self._literals: dict[tuple[str, bool], Node] = {}

    def _chars(self, char: str) -> int:
        return 1 << self.foreign[char] if char in self.foreign else _chars(char)

    def _range(self, low: str, high: str) -> int:
        between = sum(1 << bit for char, bit in self.foreign.items() if low <= char <= high)
        return between | _range(low, high) if low < BEYOND else between | _chars(high)

    def parse(self) -> Node:
        node = self._alternation()
        if self._at < len(self._text):
            raise self.error("unexpected )")
        return node

    def error(self, reason: str) -> InvalidRegex:
        text = self._text if len(self._text) <= 200 else self._text[:200] + "..."
        return InvalidRegex(f"`{text}` is not a valid regular expression: {reason}.")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        self._at += 1
        return char

    def _take(self, text: str) -> bool:
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _alternation(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error("expression nests too deeply")
        branches = [self._concatenation()]
        while self._take("|"):
            branches.append(self._concatenation())
        self._depth -= 1
        return branches[0] if len(branches) == 1 else _together("alt", branches)

    def _concatenation(self) -> Node:
        parts: list[Node] = []
        self._count()
        while self._peek() not in ("", "|", ")"):
            self._count()
            plain = _PLAIN.match(self._text, self._at)
            if plain is not None:  # its last character may be repeated
                parts += [self._literal(char) for char in plain.group()[:-1]]
                self._at = plain.end() - 1
            parts.append(self._repetition())
        return parts[0] if len(parts) == 1 else _together("cat", parts)

    def _count(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise self.error("expression is too large")

    def _repetition(self) -> Node:
        start = self._at
        node = self._atom()
        if self._at > start and self._peek() in ("*", "+", "?", "{"):
            low_high = self._quantifier()
            if low_high is None:
                return node
            low, high = low_high
            repeats = node.repeats * max(1, low if high == -1 else high) if high else 1
            if repeats > MAX_REPEAT:
                raise self.error(f"invalid repeat count: `{self._text[start : self._at]:.50}`")
            node = Node("repeat", (node,), low=low, high=high, repeats=repeats)
            self._take("?")
            before = self._at
            if self._peek() in ("*", "+", "?") or (self._peek() == "{" and self._quantifier() is not None):
                raise self.error(f"invalid nested repetition operator: `{self._text[before - 1 : before + 1]}`")
        return node

    def _quantifier(self) -> tuple[int, int] | None:
        """Bounds of the repetition that follows; None if ``{`` is just a character."""
        simple = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}.get(self._peek())
        if simple is not None:
            self._at += 1
            return simple
        end = self._text.find("}", self._at)
        bounds = self._text[self._at + 1 : end].split(",") if end != -1 else []
        if len(bounds) not in (1, 2) or not bounds[0].isdecimal() or not (bounds[-1].isdecimal() or bounds[-1] == ""):
            return None
        if not all(bound.isascii() for bound in bounds):
            return None
        if any(len(bound) > _MOST_DIGITS for bound in bounds):
            raise self.error(f"invalid repeat count: `{self._text[self._at : end + 1]:.50}`")
        low = int(bounds[0])
        high = -1 if bounds[-1] == "" else int(bounds[-1])
        if low > MAX_REPEAT or high > MAX_REPEAT or (high != -1 and high < low):
            raise self.error(f"invalid repeat count: `{self._text[self._at : end + 1]}`")
        self._at = end + 1
        return low, high

    def _atom(self) -> Node:
        char = self._peek()
        if char in ("*", "+", "?"):
            raise self.error(f"missing argument to repetition operator: `{char}`")
        self._at += 1
        match char:
            case "(":
                return self._group()
            case "[":
                return Node("char", mask=self._class())
            case ".":
                return Node("char", mask=_ALL if self._flags.dot_all else _ALL ^ _NEWLINE)
            case "^":
                return self._place("line start" if self._flags.multi_line else "start")
            case "$":
                return self._place("line end" if self._flags.multi_line else "end")
            case "\\":
                return self._escape()
            case _:
                return self._literal(char)

    def _place(self, place: str) -> Node:
        self.has_places = True
        return Node("place", place=place)

    def _literal(self, char: str) -> Node:
        key = char, self._flags.ignore_case
        node = self._literals.get(key)
        if node is None:
            node = self._literals[key] = Node("char", mask=self._folded(self._chars(char)))
        return node

    def _folded(self, mask: int) -> int:
        if not self._flags.ignore_case:
            return mask
        shift = ord("a") - ord("A")
        return mask | (mask & _UPPER) << shift | (mask & _LOWER) >> shift

    def _group(self) -> Node:
        flags = self._flags
        if self._take("?"):
            if self._take("P<") or (self._text[self._at : self._at + 2] not in ("<=", "<!") and self._take("<")):
                end = self._text.find(">", self._at)
                if end == -1 or not self._text[self._at : end].isidentifier():
                    raise self.error("invalid named capture")
                self._at = end + 1
            elif self._inline_flags():
                return _EMPTY
        node = self._alternation()
        if not self._take(")"):
            raise self.error("missing closing )")
        self._flags = flags
        return node

    def _inline_flags(self) -> bool:
        """True for ``(?flags)``, which applies up to the end of the enclosing group; False for ``(?flags:``."""
        values, on = self._flags._asdict(), True
        names = {"i": "ignore_case", "m": "multi_line", "s": "dot_all"}
        while True:
            char = self._next()
            if char in names:
                values[names[char]] = on
            elif char == "-" and on:
                on = False
            elif char in (":", ")"):
                self._flags = _Flags(**values)
                return char == ")"
            elif char != "U":
                raise self.error("invalid or unsupported Perl syntax")

    def _escape(self) -> Node:
        char = self._next()
        if char == "":
            raise self.error("trailing backslash at end of expression")
        places = {"A": "start", "z": "end", "b": "word edge", "B": "no word edge"}
        if char in places:
            return self._place(places[char])
        if char in _PERL:
            return Node("char", mask=_PERL[char])
        if char == "Q":
            end = self._text.find("\\E", self._at)
            quoted = self._text[self._at :] if end == -1 else self._text[self._at : end]
            self._at = len(self._text) if end == -1 else end + 2
            return Node("cat", tuple(self._literal(c) for c in quoted))
        return self._literal(self._escaped_char(char))

    def _escaped_char(self, char: str) -> str:
        """The character that an escape stands for, inside and outside brackets."""
        if char in _CONTROL:
            return _CONTROL[char]
        if char == "0":
            digits = self._text[self._at : self._at + 2]
            digits = digits[: 2 if digits.isdecimal() else 0]
            self._at += len(digits)
            return chr(int("0" + digits, 8)) if set(digits) <= set("01234567") else "\0"
        if char == "x":
            end = self._text.find("}", self._at) if self._take("{") else self._at + 2
            digits = self._text[self._at : end] if end != -1 else ""
            if not digits or not set(digits) <= _HEX_DIGITS:
                raise self.error("invalid escape sequence: `\\x`")
            value = int(digits, 16)
            self._at = end + (self._text[end : end + 1] == "}" and self._text[self._at - 1] == "{")
            return chr(min(value, OTHER))
        if char.isalnum():
            raise self.error(f"invalid escape sequence: `\\{char}`")
        return char

    def _class(self) -> int:
        start = self._at - 1
        negated = self._take("^")
        mask, first = 0, True
        while first or self._peek() != "]":
            if self._peek() == "":
                raise self.error(f"missing closing ]: `{self._text[start:]}`")
            first = False
            mask |= self._class_item()
        self._at += 1
        mask = self._folded(mask)
        return _ALL ^ mask if negated else mask

    def _class_item(self) -> int:
        if self._take("[:"):
            end = self._text.find(":]", self._at)
            name = self._text[self._at : end] if end != -1 else ""
            known = _POSIX.get(name.removeprefix("^"))
            if known is None:
                raise self.error(f"invalid character class range: `[:{name}:]`")
            self._at = end + 2
            return _ALL ^ known if name.startswith("^") else known
        low = self._next()
        if low == "\\":
            low = self._next()
            if low in _PERL:
                return _PERL[low]
            low = self._escaped_char(low)
        if self._peek() != "-" or self._text[self._at + 1 : self._at + 2] in ("]", ""):
            return self._chars(low)
        self._at += 1
        high = self._next()
        if high == "\\":
            high = self._escaped_char(self._next())
        if high < low:
            raise self.error(f"invalid character class range: `{low}-{high}`")
        return self._range(low, high)
