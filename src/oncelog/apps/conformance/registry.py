"""Registers the checks: each is a function with the KIP that requires it, and with its cases.

Called by ``oncelog conformance`` and by ``tests/integration/conformance``, which runs the same functions against
oncelog and Apache Kafka.
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
    "transaction_ends": "transactions",
    "transaction_admin": "transactions",
    "isolation": "isolation",
    "fetching": "reading",
    "log_offsets": "reading",
    "classic_groups": "groups",
    "group_offsets": "groups",
    "consumer_groups": "groups of KIP-848",
    "share_groups": "share groups",
}
"""The subject of each module of ``checks``."""

PROTOCOL = "protocol"
"""The source of promises that are older than the KIPs: the protocol's own documentation."""

Function = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Check:
    """A check of one promise.

    :ivar kip: where the promise is documented.
    :ivar assumes: a setting of the broker that must have its default.
    :ivar since: the release of Apache Kafka that first made the promise; empty if all that are supported make it.
    """

    area: str
    name: str
    function: Function
    kip: str
    assumes: str
    since: str
    cases: tuple[Mapping[str, Any], ...]

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")


_PARAMETERS: dict[Function, list[list[dict[str, Any]]]] = {}
_CHECKS: list[Check] = []


def check(kip: str, *, assumes: str = "", since: str = "") -> Callable[[Function], Function]:
    """A decorator that registers a function as a check, with the cases that :func:`each` has given it.

    :param kip: where the promise is documented.
    :param assumes: a setting of the broker that must have its default.
    :param since: the release of Apache Kafka that first made the promise.
    """

    def enter(function: Function) -> Function:
        groups = reversed(_PARAMETERS.pop(function, []))
        cases = tuple(_merged(parts) for parts in itertools.product(*groups))
        area = AREAS[function.__module__.rpartition(".")[2]]
        _CHECKS.append(Check(area, function.__name__, function, kip, assumes, since, cases))
        return function

    return enter


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


def each(*names: str, values: Iterable[Any]) -> Callable[[Function], Function]:
    """A decorator that runs a check once for each value, or tuple of values, of the named parameters."""

    def note(function: Function) -> Function:
        rows = [dict(zip(names, value if len(names) > 1 else (value,), strict=True)) for value in values]
        _PARAMETERS.setdefault(function, []).append(rows)
        return function

    return note


def all_checks() -> Sequence[Check]:
    """All checks, ordered by area."""
    for module in AREAS:
        import_module(f"oncelog.apps.conformance.checks.{module}")
    order = list(dict.fromkeys(AREAS.values()))
    return sorted(_CHECKS, key=lambda entry: order.index(entry.area))


def cases_of(checks: Iterable[Check]) -> list[tuple[Check, Mapping[str, Any]]]:
    """All cases: each check with each combination of its parameters."""
    return [(entry, case) for entry in checks for case in entry.cases]


def case_name(entry: Check, case: Mapping[str, Any]) -> str:
    """``a_gap_is_out_of_order[version=3]``."""
    values = ",".join(f"{name}={value}" for name, value in case.items())
    return f"{entry.name}[{values}]" if values else entry.name
