"""Regular expressions in the syntax of RE2, matched in linear time.

A SubscribedTopicRegex and the filter of ListTransactions come from clients and are matched on the thread that serves
everybody, so an expression must not be able to stop it: no backtracking, and a bound on its size and on all the work
that it may cause. Back references and look-around, which RE2 does not have either, are refused. A name matches as a
whole. Called by ``group.consumer_draft``, ``group.consumer_protocol`` and ``transaction.coordinator``.

An expression becomes a program for Thompson's machine; sets of its states are remembered, so that each character of a
name costs one look-up once the sets are known. Characters beyond ASCII that the expression does not name count as one.
(The library google-re2 would be the field's answer, but it is compiled C++ for a few platforms, and the core installs
without any.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

MAX_REPEAT = 1000
"""For repetitions within each other: the product of their counts, as RE2/J has it."""
MAX_PROGRAM = 6_000
MAX_DEPTH = 100
MAX_EMITTED = 100_000
"""Parts of an expression laid out, repetitions counted: empty ones add nothing to the program but take time."""
MAX_STEPS = 50_000
"""States looked at while sets of states are found, for all names together: about a hundredth of a second."""
MAX_FOREIGN = 256
"""Different characters beyond ASCII in one expression."""

_OTHER = 128
_ALL = (1 << (_OTHER + 1 + MAX_FOREIGN)) - 1
_NEWLINE = 1 << ord("\n")


def _chars(text: str) -> int:
    mask = 0
    for char in text:
        mask |= 1 << min(ord(char), _OTHER)
    return mask


def _range(first: str, last: str) -> int:
    low, high = min(ord(first), _OTHER), min(ord(last), _OTHER)
    return ((1 << (high - low + 1)) - 1) << low


_ASCII = frozenset(map(chr, range(_OTHER)))
_BEYOND = chr(_OTHER)
_DIGIT = _range("0", "9")
_LOWER, _UPPER = _range("a", "z"), _range("A", "Z")
_WORD = _DIGIT | _LOWER | _UPPER | _chars("_")
_SPACE = _chars("\t\n\f\r ")
_PERL = {"d": _DIGIT, "w": _WORD, "s": _SPACE, "D": _ALL ^ _DIGIT, "W": _ALL ^ _WORD, "S": _ALL ^ _SPACE}
_POSIX = {
    "alnum": _DIGIT | _LOWER | _UPPER,
    "alpha": _LOWER | _UPPER,
    "ascii": (1 << _OTHER) - 1,
    "blank": _chars("\t "),
    "cntrl": _range("\0", "\x1f") | _chars("\x7f"),
    "digit": _DIGIT,
    "graph": _range("!", "~"),
    "lower": _LOWER,
    "print": _range(" ", "~"),
    "punct": _range("!", "/") | _range(":", "@") | _range("[", "`") | _range("{", "~"),
    "space": _SPACE | _chars("\v"),
    "upper": _UPPER,
    "word": _WORD,
    "xdigit": _DIGIT | _range("a", "f") | _range("A", "F"),
}
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_MOST_DIGITS = 9


class InvalidRegex(Exception):
    """The expression is not one of RE2's, or too large; the text says what is wrong."""


class _Op(NamedTuple):
    """``char``: a set of characters; ``split``: go to both; ``assert``: a place in the name; ``match``: the end."""

    kind: str
    mask: int = 0
    goto: tuple[int, ...] = ()
    place: str = ""


@dataclass(slots=True, eq=False)
class _Node:
    """``char``, ``place``, ``cat``, ``alt``, ``repeat`` (of its only child, ``low`` to ``high`` times, -1 for ever)."""

    kind: str
    children: tuple[_Node, ...] = ()
    mask: int = 0
    place: str = ""
    low: int = 0
    high: int = 0
    repeats: int = 1
    """The largest product of counts of repetitions within each other."""


_EMPTY = _Node("cat")


def _together(kind: str, children: list[_Node]) -> _Node:
    return _Node(kind, tuple(children), repeats=max((child.repeats for child in children), default=1))


class _Flags(NamedTuple):
    ignore_case: bool = False
    multi_line: bool = False
    dot_all: bool = False


class _Parser:
    """Recursive descent over the expression's text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._flags = _Flags()
        self._depth = 0
        self.foreign = {char: _OTHER + 1 + index for index, char in enumerate(sorted(set(text) - _ASCII))}
        """The bits of the characters beyond ASCII that the expression names."""
        if len(self.foreign) > MAX_FOREIGN:
            raise self._error("too many different characters beyond ASCII")

    def _chars(self, char: str) -> int:
        return 1 << self.foreign[char] if char in self.foreign else _chars(char)

    def _range(self, low: str, high: str) -> int:
        between = sum(1 << bit for char, bit in self.foreign.items() if low <= char <= high)
        return between | _range(low, high) if low < _BEYOND else between | _chars(high)

    def parse(self) -> _Node:
        node = self._alternation()
        if self._at < len(self._text):
            raise self._error("unexpected )")
        return node

    def _error(self, reason: str) -> InvalidRegex:
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

    def _alternation(self) -> _Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error("expression nests too deeply")
        branches = [self._concatenation()]
        while self._take("|"):
            branches.append(self._concatenation())
        self._depth -= 1
        return branches[0] if len(branches) == 1 else _together("alt", branches)

    def _concatenation(self) -> _Node:
        parts: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repetition())
        return parts[0] if len(parts) == 1 else _together("cat", parts)

    def _repetition(self) -> _Node:
        start = self._at
        node = self._atom()
        if self._at > start and self._peek() in ("*", "+", "?", "{"):
            low_high = self._quantifier()
            if low_high is None:
                return node
            low, high = low_high
            repeats = node.repeats * max(1, low if high == -1 else high) if high else 1
            if repeats > MAX_REPEAT:
                raise self._error(f"invalid repeat count: `{self._text[start : self._at]:.50}`")
            node = _Node("repeat", (node,), low=low, high=high, repeats=repeats)
            self._take("?")
            before = self._at
            if self._peek() in ("*", "+", "?") or (self._peek() == "{" and self._quantifier() is not None):
                raise self._error(f"invalid nested repetition operator: `{self._text[before - 1 : before + 1]}`")
        return node

    def _quantifier(self) -> tuple[int, int] | None:
        """Bounds of the repetition that comes next; None if ``{`` is just a character."""
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
            raise self._error(f"invalid repeat count: `{self._text[self._at : end + 1]:.50}`")
        low = int(bounds[0])
        high = -1 if bounds[-1] == "" else int(bounds[-1])
        if low > MAX_REPEAT or high > MAX_REPEAT or (high != -1 and high < low):
            raise self._error(f"invalid repeat count: `{self._text[self._at : end + 1]}`")
        self._at = end + 1
        return low, high

    def _atom(self) -> _Node:
        char = self._peek()
        if char in ("*", "+", "?"):
            raise self._error(f"missing argument to repetition operator: `{char}`")
        self._at += 1
        match char:
            case "(":
                return self._group()
            case "[":
                return _Node("char", mask=self._class())
            case ".":
                return _Node("char", mask=_ALL if self._flags.dot_all else _ALL ^ _NEWLINE)
            case "^":
                return _Node("place", place="line start" if self._flags.multi_line else "start")
            case "$":
                return _Node("place", place="line end" if self._flags.multi_line else "end")
            case "\\":
                return self._escape()
            case _:
                return self._literal(char)

    def _literal(self, char: str) -> _Node:
        return _Node("char", mask=self._folded(self._chars(char)))

    def _folded(self, mask: int) -> int:
        if not self._flags.ignore_case:
            return mask
        shift = ord("a") - ord("A")
        return mask | (mask & _UPPER) << shift | (mask & _LOWER) >> shift

    def _group(self) -> _Node:
        flags = self._flags
        if self._take("?"):
            if self._take("P<") or (self._text[self._at : self._at + 2] not in ("<=", "<!") and self._take("<")):
                end = self._text.find(">", self._at)
                if end == -1 or not self._text[self._at : end].isidentifier():
                    raise self._error("invalid named capture")
                self._at = end + 1
            elif self._inline_flags():
                return _EMPTY
        node = self._alternation()
        if not self._take(")"):
            raise self._error("missing closing )")
        self._flags = flags
        return node

    def _inline_flags(self) -> bool:
        """``(?flags)``, which holds to the end of the enclosing group: True; ``(?flags:``: False."""
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
                raise self._error("invalid or unsupported Perl syntax")

    def _escape(self) -> _Node:
        char = self._next()
        if char == "":
            raise self._error("trailing backslash at end of expression")
        places = {"A": "start", "z": "end", "b": "word edge", "B": "no word edge"}
        if char in places:
            return _Node("place", place=places[char])
        if char in _PERL:
            return _Node("char", mask=_PERL[char])
        if char == "Q":
            end = self._text.find("\\E", self._at)
            quoted = self._text[self._at :] if end == -1 else self._text[self._at : end]
            self._at = len(self._text) if end == -1 else end + 2
            return _Node("cat", tuple(self._literal(c) for c in quoted))
        return self._literal(self._escaped_char(char))

    def _escaped_char(self, char: str) -> str:
        """The character that an escape stands for, in and out of brackets."""
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
                raise self._error("invalid escape sequence: `\\x`")
            value = int(digits, 16)
            self._at = end + (self._text[end : end + 1] == "}" and self._text[self._at - 1] == "{")
            return chr(min(value, _OTHER))
        if char.isalnum():
            raise self._error(f"invalid escape sequence: `\\{char}`")
        return char

    def _class(self) -> int:
        start = self._at - 1
        negated = self._take("^")
        mask, first = 0, True
        while first or self._peek() != "]":
            if self._peek() == "":
                raise self._error(f"missing closing ]: `{self._text[start:]}`")
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
                raise self._error(f"invalid character class range: `[:{name}:]`")
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
            raise self._error(f"invalid character class range: `{low}-{high}`")
        return self._range(low, high)


class _Compiler:
    """Lays a tree out as a program."""

    def __init__(self, parser: _Parser) -> None:
        self._parser = parser
        self.program: list[_Op] = []
        self._emitted = 0

    def emit(self, node: _Node) -> None:
        self._emitted += 1
        if len(self.program) > MAX_PROGRAM or self._emitted > MAX_EMITTED:
            raise self._parser._error("expression is too large")
        match node.kind:
            case "char":
                self.program.append(_Op("char", mask=node.mask))
            case "place":
                self.program.append(_Op("assert", place=node.place))
            case "cat":
                for child in node.children:
                    self.emit(child)
            case "alt":
                self._alternatives(node.children)
            case _:
                self._repeat(node.children[0], node.low, node.high)

    def _alternatives(self, branches: tuple[_Node, ...]) -> None:
        exits: list[int] = []
        for branch in branches[:-1]:
            split = self._hole()
            self.emit(branch)
            exits.append(self._hole())
            self.program[split] = _Op("split", goto=(split + 1, len(self.program)))
        self.emit(branches[-1])
        for hole in exits:
            self.program[hole] = _Op("split", goto=(len(self.program),))

    def _repeat(self, child: _Node, low: int, high: int) -> None:
        before = len(self.program)
        for _ in range(low):
            self.emit(child)
            if len(self.program) == before:
                return  # of nothing, however often
        if high == -1:
            split = self._hole()
            self.emit(child)
            self.program.append(_Op("split", goto=(split,)))
            self.program[split] = _Op("split", goto=(split + 1, len(self.program)))
        else:
            holes: list[int] = []
            for _ in range(high - low):
                holes.append(self._hole())
                self.emit(child)
                if len(self.program) == holes[-1] + 1:
                    break
            for hole in holes:
                self.program[hole] = _Op("split", goto=(hole + 1, len(self.program)))

    def _hole(self) -> int:
        self.program.append(_Op("split"))
        return len(self.program) - 1


@dataclass(slots=True)
class LinearRegex:
    """A compiled expression; raises ``InvalidRegex``, :meth:`matches` too where it takes too much work."""

    text: str
    _program: list[_Op] = field(init=False)
    _foreign: dict[str, int] = field(init=False)
    _work: int = field(init=False, default=0)
    _steps: dict[tuple[frozenset[int], int, int], frozenset[int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        parser = _Parser(self.text)
        compiler = _Compiler(parser)
        compiler.emit(parser.parse())
        compiler.program.append(_Op("match"))
        self._program = compiler.program
        self._foreign = parser.foreign

    def matches(self, name: str) -> bool:
        """Whether the whole of ``name`` matches."""
        states, before = frozenset((0,)), -1
        for char in name:
            code = ord(char) if char < _BEYOND else self._foreign.get(char, _OTHER)
            key = (states, before, code)
            after = self._steps.get(key)
            if after is None:
                after = self._steps[key] = self._step(states, before, code)
            if not after:
                return False
            states, before = after, code
        last = len(self._program) - 1
        return last in self._closure(states, before, -1)

    def _step(self, states: frozenset[int], before: int, code: int) -> frozenset[int]:
        bit = 1 << code
        reached = self._closure(states, before, code)
        return frozenset(s + 1 for s in reached if self._program[s].kind == "char" and self._program[s].mask & bit)

    def _closure(self, states: frozenset[int], before: int, after: int) -> set[int]:
        """Every state that is reached without a character, between ``before`` and ``after`` (-1: nothing there)."""
        seen: set[int] = set()
        todo = list(states)
        if self._work > MAX_STEPS:
            raise InvalidRegex(f"`{self.text:.200}` takes too much work to match.")
        while todo:
            state = todo.pop()
            if state in seen:
                continue
            seen.add(state)
            op = self._program[state]
            if op.kind == "split":
                todo += op.goto
            elif op.kind == "assert" and _holds(op.place, before, after):
                todo.append(state + 1)
        self._work += len(seen)
        return seen


def _holds(place: str, before: int, after: int) -> bool:
    newline = ord("\n")
    word_edge = (before >= 0 and _WORD >> before & 1) != (after >= 0 and _WORD >> after & 1)
    return {
        "start": before == -1,
        "end": after == -1,
        "line start": before in (-1, newline),
        "line end": after in (-1, newline),
        "word edge": bool(word_edge),
        "no word edge": not word_edge,
    }[place]
