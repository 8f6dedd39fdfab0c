"""The checks: each a function with its number in the project's list, the KIP that asks for it, and its cases.

Called by ``oncelog conformance`` and by ``tests/conformance``, which runs the same functions on both brokers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

AREAS: Mapping[str, str] = {
    "idempotence": "idempotence",
    "producer_ids": "transactions",
    "coordinator": "transactions",
    "transaction_admin": "transactions",
    "isolation": "isolation",
    "fetching": "reading",
    "offsets": "reading",
    "classic_groups": "groups",
    "group_offsets": "groups",
    "consumer_groups": "groups of KIP-848",
}
"""Modules with checks, and what they are about."""

PROTOCOL = "protocol"
"""What was there before KIPs were: the protocol's own documentation."""

Function = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Check:
    """One promise.

    :ivar kip: where it is written.
    :ivar number: in the project's list of requirements; None for one that came later.
    :ivar assumes: a broker's setting that must have its default.
    """

    area: str
    name: str
    function: Function
    kip: str
    number: int | None
    assumes: str
    cases: tuple[Mapping[str, Any], ...]

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")


_PARAMETERS: dict[Function, list[list[dict[str, Any]]]] = {}
_CHECKS: list[Check] = []


def check(kip: str, *, number: int | None = None, assumes: str = "") -> Callable[[Function], Function]:
    """Enter a function into the registry, with the cases that :func:`each` gave it."""

    def enter(function: Function) -> Function:
        groups = reversed(_PARAMETERS.pop(function, []))
        cases = tuple(_merged(parts) for parts in itertools.product(*groups))
        area = AREAS[function.__module__.rpartition(".")[2]]
        _CHECKS.append(Check(area, function.__name__, function, kip, number, assumes, cases))
        return function

    return enter


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


def each(*names: str, values: Iterable[Any]) -> Callable[[Function], Function]:
    """One case for each value, or tuple of values, of the parameters."""

    def note(function: Function) -> Function:
        rows = [dict(zip(names, value if len(names) > 1 else (value,), strict=True)) for value in values]
        _PARAMETERS.setdefault(function, []).append(rows)
        return function

    return note


def all_checks() -> Sequence[Check]:
    """Every check, area by area."""
    for module in AREAS:
        import_module(f"oncelog.conformance.{module}")
    order = list(dict.fromkeys(AREAS.values()))
    return sorted(_CHECKS, key=lambda entry: order.index(entry.area))


def cases_of(checks: Iterable[Check]) -> list[tuple[Check, Mapping[str, Any]]]:
    """Each check with each of its cases."""
    return [(entry, case) for entry in checks for case in entry.cases]


def case_name(entry: Check, case: Mapping[str, Any]) -> str:
    """``a_gap_is_out_of_order[version=3]``."""
    values = ",".join(f"{name}={value}" for name, value in case.items())
    return f"{entry.name}[{values}]" if values else entry.name
