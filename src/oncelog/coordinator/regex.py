"""Regular expressions in the syntax of RE2, matched in linear time.

A SubscribedTopicRegex and the filter of ListTransactions come from clients and are matched on the thread that serves
all of them, so an expression must not be able to block it: no backtracking, and a limit on its size and on all the work
that it may cause. Back references and look-around, which RE2 does not have either, are refused. A name matches as a
whole. Called by ``group.consumer_draft``, ``group.consumer_protocol`` and ``transaction.coordinator``.

An expression becomes a program for Thompson's machine; sets of its states are cached, so that each character of a
name costs one lookup once the sets are known. All non-ASCII characters that the expression does not name count as one.
(The library google-re2 would be the usual choice, but it is compiled C++ for a few platforms, and the core installs
without any compiled dependency.)
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from oncelog.coordinator.regex_syntax import BEYOND, OTHER, WORD, InvalidRegex, Node, Parser

MAX_PROGRAM = 6_000
MAX_STEPS = 50_000
"""States visited while state sets are computed, for all names together: about a hundredth of a second."""
STEPS_IN_A_PIECE = 2_000


__all__ = ["InvalidRegex", "LinearRegex"]


class _Op(NamedTuple):
    """``char``: a set of characters; ``split``: continue at all of ``goto``, relative to here; ``assert``: a position
    in the name; ``match``: the end.
    """

    kind: str
    mask: int = 0
    goto: tuple[int, ...] = ()
    place: str = ""


class _Compiler:
    """Compiles a tree into a program. Repeated parts are compiled once: each is the same wherever it is placed."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser

    def lay_out(self, node: Node) -> list[_Op]:
        match node.kind:
            case "char":
                part = [_Op("char", mask=node.mask)]
            case "place":
                part = [_Op("assert", place=node.place)]
            case "cat":
                part = self._in_a_row(node.children)
            case "alt":
                part = self._alternatives([self.lay_out(branch) for branch in node.children])
            case _:
                part = self._repeat(self.lay_out(node.children[0]), node.low, node.high)
        self._check(len(part))
        return part

    def _check(self, size: int) -> None:
        if size > MAX_PROGRAM:
            raise self._parser.error("expression is too large")

    def _in_a_row(self, children: tuple[Node, ...]) -> list[_Op]:
        row: list[_Op] = []
        literals: dict[int, _Op] = {}
        for child in children:
            if child.kind == "char":
                op = literals.get(child.mask)
                if op is None:
                    op = literals[child.mask] = _Op("char", mask=child.mask)
                row.append(op)
            else:
                row += self.lay_out(child)
                self._check(len(row))
        return row

    def _alternatives(self, branches: list[list[_Op]]) -> list[_Op]:
        left = sum(map(len, branches)) + 2 * (len(branches) - 1)
        self._check(left)
        program: list[_Op] = []
        for branch in branches[:-1]:
            left -= len(branch) + 2
            program += (_Op("split", goto=(1, len(branch) + 2)), *branch, _Op("split", goto=(left + 1,)))
        return program + branches[-1]

    def _repeat(self, part: list[_Op], low: int, high: int) -> list[_Op]:
        if not part:
            return part  # a repetition of nothing
        size = len(part)
        if high == -1:
            self._check(size * (low + 1) + 2)
            return [*part * low, _Op("split", goto=(1, size + 2)), *part, _Op("split", goto=(-size - 1,))]
        self._check(size * low + (size + 1) * (high - low))
        program = part * low
        for left in range(high - low, 0, -1):
            program.append(_Op("split", 0, (1, left * (size + 1))))
            program += part
        return program


@dataclass(slots=True)
class LinearRegex:
    """A compiled expression; raises ``InvalidRegex``, also in :meth:`matches` if that takes too much work."""

    text: str
    _program: list[_Op] = field(init=False)
    _foreign: dict[str, int] = field(init=False)
    _looks_around: bool = field(init=False)
    _work: int = field(init=False, default=0)
    _pause_at: int = field(init=False, default=STEPS_IN_A_PIECE)
    _steps: dict[tuple[frozenset[int], int, int], frozenset[int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        parser = Parser(self.text)
        self._program = [*_Compiler(parser).lay_out(parser.parse()), _Op("match")]
        self._foreign = parser.foreign
        self._looks_around = parser.has_places

    def matches(self, name: str) -> bool:
        """Whether the whole of ``name`` matches."""
        matching = self.matching(name)
        while True:
            try:
                next(matching)
            except StopIteration as end:
                return bool(end.value)

    def matching(self, name: str) -> Generator[None, None, bool]:
        """As :meth:`matches`, with a pause after a certain amount of work, counted across names."""
        states, before = frozenset((0,)), -1
        for char in name:
            code = ord(char) if char < BEYOND else self._foreign.get(char, OTHER)
            key = (states, before, code)
            after = self._steps.get(key)
            if after is None:
                after = self._steps[key] = self._step(states, before, code)
                if self._work >= self._pause_at:
                    self._pause_at = self._work + STEPS_IN_A_PIECE
                    yield
            if not after:
                return False
            states, before = after, code if self._looks_around else -1
        last = len(self._program) - 1
        return last in self._closure(states, before, -1)

    def _step(self, states: frozenset[int], before: int, code: int) -> frozenset[int]:
        bit = 1 << code
        reached = self._closure(states, before, code)
        return frozenset(s + 1 for s in reached if self._program[s].kind == "char" and self._program[s].mask & bit)

    def _closure(self, states: frozenset[int], before: int, after: int) -> set[int]:
        """Every state reachable without a character, between ``before`` and ``after`` (-1: none)."""
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
                for way in op.goto:
                    todo.append(state + way)
            elif op.kind == "assert" and _holds(op.place, before, after):
                todo.append(state + 1)
        self._work += len(seen)
        return seen


@lru_cache(maxsize=1024)
def _holds(place: str, before: int, after: int) -> bool:
    newline = ord("\n")
    word_edge = (before >= 0 and WORD >> before & 1) != (after >= 0 and WORD >> after & 1)
    return {
        "start": before == -1,
        "end": after == -1,
        "line start": before in (-1, newline),
        "line end": after in (-1, newline),
        "word edge": bool(word_edge),
        "no word edge": not word_edge,
    }[place]
