"""How a bug is planted: one function of the shipped code is compiled from a changed source and replaces the
original.

The function's code object is exchanged in place, so that tables, bound methods and imported names use it too. The text
to change must occur exactly once: if the code has changed since, the mutant fails by name. So it does if its code names
what its module does not have. What planted code itself raises as Python's errors, such as an AttributeError, is a fault
of the mutant: a seed that fails by it has found nothing.
"""

from __future__ import annotations

import ast
import builtins
import dis
import importlib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from types import CodeType, FunctionType
from typing import Any


class MutantDoesNotApply(Exception):
    """The code that a mutant changes has itself changed."""


SLIPS = (NameError, AttributeError, TypeError)
"""What code raises that does not fit the code around it."""
_slips: list[str] = []


def note_slip(error: BaseException) -> None:
    """Called by planted code with what leaves it; what it was given by code that it called is not its own."""
    own = error.__traceback__ is not None and error.__traceback__.tb_next is None
    if own and isinstance(error, SLIPS):
        _slips.append(repr(error))


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
    place = _node(ast.parse(source), path.split("."), mutant)
    first, last = place.lineno, place.end_lineno
    text = "".join(lines[first - 1 : last])
    count = text.count(mutant.old)
    if count != 1:
        raise MutantDoesNotApply(
            f"{mutant.name}: {mutant.where} has {mutant.old!r} {count} times, not once: bring the mutant up to date"
        )
    whole = ast.parse("".join(lines[: first - 1]) + text.replace(mutant.old, mutant.new) + "".join(lines[last:]))
    _watch(_node(whole, path.split("."), mutant))
    code = compile(whole, f"<mutant: {mutant.name}>", "exec")
    for found in _codes(code):
        if found.co_qualname == path and found.co_freevars == function.__code__.co_freevars:
            _names_exist(mutant, function, found)
            return function, found
    raise MutantDoesNotApply(f"{mutant.name}: {mutant.where} cannot be exchanged: its free variables differ")


def _node(tree: ast.AST, path: list[str], mutant: Mutant) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """A function in its module."""
    node = tree
    for name in path:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and child.name == name:
                node = child
                break
        else:
            raise MutantDoesNotApply(f"{mutant.name}: the source has no {mutant.where}")
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise MutantDoesNotApply(f"{mutant.name}: {mutant.where} is no function")
    return node


_WATCHED = """
try:
    pass
except BaseException as _left:
    __import__("tests.simulation.planting", fromlist=["note_slip"]).note_slip(_left)
    raise
"""


def _watch(node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Have planted code note what it raises."""
    (watched,) = ast.parse(_WATCHED).body
    assert isinstance(watched, ast.Try)
    watched.body = node.body
    node.body = [watched]
    ast.fix_missing_locations(node)


def _names_exist(mutant: Mutant, function: FunctionType, code: CodeType) -> None:
    known = function.__globals__.keys() | vars(builtins).keys()
    named = {
        str(step.argval)
        for part in (code, *_codes(code))
        for step in dis.get_instructions(part)
        if step.opname == "LOAD_GLOBAL"
    }
    if missing := sorted(named - known):
        raise MutantDoesNotApply(f"{mutant.name}: {mutant.where} has no {', '.join(missing)}")


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


@contextmanager
def planted(mutant: Mutant) -> Iterator[list[str]]:
    """Plants the bug for the length of the block; in the list is what it slipped on."""
    changes = [changed_code(part) for part in parts(mutant)]
    originals = [function.__code__ for function, _ in changes]
    for function, code in changes:
        function.__code__ = code
    _slips.clear()
    try:
        yield _slips
    finally:
        for (function, _), original in zip(changes, originals, strict=True):
            function.__code__ = original


def parts(mutant: Mutant) -> list[Mutant]:
    """A mutant for each place that is changed."""
    return [mutant, *(Mutant(mutant.name, *change, scenes=(), one_in=0) for change in mutant.too)]


__all__ = ["Mutant", "MutantDoesNotApply", "changed_code", "note_slip", "parts", "planted"]
