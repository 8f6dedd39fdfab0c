"""How a bug is planted: one function of the shipped code is compiled from a changed source and replaces the
original.

The function's code object is exchanged in place, so that tables, bound methods and imported names use it too. The text
to change must occur exactly once: if the code has changed since, the mutant fails by name.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from types import CodeType, FunctionType
from typing import Any


class MutantDoesNotApply(Exception):
    """The code that a mutant changes has itself changed."""


@dataclass(frozen=True)
class Mutant:
    """``where`` is ``module:function`` or ``module:Class.method``, below ``oncelog``; ``old`` becomes ``new`` in it.

    ``too``: what else is changed, for checks that back each other up.

    ``scenes``: those that can find it, in turn; ``one_in``: of so many of their seeds one does, as ``make mutants``
    has measured.
    """

    name: str
    where: str
    old: str
    new: str
    too: Sequence[tuple[str, str, str]] = ()
    _: KW_ONLY
    scenes: Sequence[str]
    one_in: int

    def __str__(self) -> str:
        return self.name


def _function(mutant: Mutant) -> tuple[FunctionType, str, str]:
    """The function, its module's source, and its qualified name."""
    module_name, _, path = mutant.where.partition(":")
    try:
        module = importlib.import_module(f"oncelog.{module_name}")
        found: Any = module
        for part in path.split("."):
            found = inspect.getattr_static(found, part)
    except (ImportError, AttributeError) as error:
        raise MutantDoesNotApply(f"{mutant.name}: there is no {mutant.where}: {error}") from error
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    if isinstance(found, property):
        found = found.fget
    if not isinstance(found, FunctionType):
        raise MutantDoesNotApply(f"{mutant.name}: {mutant.where} is no function, but {found!r}")
    return found, inspect.getsource(module), path


def changed_code(mutant: Mutant) -> tuple[FunctionType, CodeType]:
    """The function, and the code to run instead.

    :raises MutantDoesNotApply: its source is not what the mutant expects.
    """
    function, source, path = _function(mutant)
    lines = source.splitlines(keepends=True)
    first, last = _place(ast.parse(source), path.split("."), mutant)
    text = "".join(lines[first - 1 : last])
    count = text.count(mutant.old)
    if count != 1:
        raise MutantDoesNotApply(
            f"{mutant.name}: {mutant.where} has {mutant.old!r} {count} times, not once: bring the mutant up to date"
        )
    whole = "".join(lines[: first - 1]) + text.replace(mutant.old, mutant.new) + "".join(lines[last:])
    code = compile(whole, f"<mutant: {mutant.name}>", "exec")
    for found in _codes(code):
        if found.co_qualname == path and found.co_freevars == function.__code__.co_freevars:
            return function, found
    raise MutantDoesNotApply(f"{mutant.name}: {mutant.where} cannot be exchanged: its free variables differ")


def _place(tree: ast.AST, path: list[str], mutant: Mutant) -> tuple[int, int]:
    """First and last line of a function in its module."""
    node = tree
    for name in path:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and child.name == name:
                node = child
                break
        else:
            raise MutantDoesNotApply(f"{mutant.name}: the source has no {mutant.where}")
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.end_lineno is None:
        raise MutantDoesNotApply(f"{mutant.name}: {mutant.where} is no function")
    return node.lineno, node.end_lineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Plants the bug for the length of the block."""
    changes = [changed_code(part) for part in parts(mutant)]
    originals = [function.__code__ for function, _ in changes]
    for function, code in changes:
        function.__code__ = code
    try:
        yield
    finally:
        for (function, _), original in zip(changes, originals, strict=True):
            function.__code__ = original


def parts(mutant: Mutant) -> list[Mutant]:
    """A mutant for each place that is changed."""
    return [mutant, *(Mutant(mutant.name, *change, scenes=(), one_in=0) for change in mutant.too)]


__all__ = ["Mutant", "MutantDoesNotApply", "changed_code", "parts", "planted"]
