"""Faults as text: the form that ``oncelog proxy --fault`` and the control over HTTP take. Examples:

``lose_answer Produce topic=orders times=1``, ``delay 200 Fetch``, ``answer_error EndTxn NOT_COORDINATOR``,
``cut_connection after Produce``, ``throttle 500 Produce``, ``blackhole client_id=web``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from oncelog.broker.faults.rules import Fault, FaultError, Faults
from oncelog.settings.fields import nearest

_API: Final = "api"
KINDS: Final[Mapping[str, Sequence[str]]] = {
    "lose_request": (_API,),
    "lose_answer": (_API,),
    "cut_connection": ("when", _API),
    "delay": ("ms", _API),
    "answer_error": (_API, "error"),
    "duplicate": (_API,),
    "reorder": (_API,),
    "throttle": ("ms", _API),
    "blackhole": ("client_id", _API),
}
"""The kinds of faults on requests, each with its positional arguments in order."""
INSIDE: Final[Mapping[str, Sequence[str]]] = {
    "hold_markers": ("transactional_id",),
    "lose_marker": ("transactional_id",),
    "repeat_marker": ("transactional_id",),
    "crash_coordinator": ("after", "transactional_id"),
    "full_disk": (),
    "slow_disk": ("ms",),
    "failing_sync": (),
}
"""Kinds of faults that only this broker supports, not the proxy, with their positional arguments."""
DEEDS: Final[Mapping[str, Sequence[str]]] = {
    "expire_transaction": ("transactional_id",),
    "expire_member": ("group", "member_id"),
    "expire_lock": ("group",),
    "forget_producer": ("topic", "partition"),
    "stop_node": ("node_id",),
    "kill_node": ("node_id",),
    "start_node": ("node_id",),
    "isolate_node": ("node_id",),
    "heal_node": ("node_id",),
    "move_leader": ("topic", "partition", "to"),
    "move_coordinator": ("to", "group"),
}
"""Actions that are carried out once, immediately, with their positional arguments."""
_NUMBERS: Final[Mapping[str, Callable[[str], object]]] = {
    "ms": int,
    "node_id": int,
    "to": int,
    "times": int,
    "skip": int,
    "seed": int,
    "partition": int,
    "version": int,
    "probability": float,
}


def add_fault(faults: Faults, text: str) -> Fault:
    """Create the fault described by the text; it is in force from now on.

    :raises FaultError: the text describes no fault, or an impossible one.
    """
    kind, options = _read(text, _kinds(faults), "fault")
    return make_fault(faults, kind, options)


def make_fault(faults: Faults, kind: str, options: Mapping[str, Any]) -> Fault:
    """Like :func:`add_fault`, from a kind and its options."""
    made: Fault = _call(faults, kind, options, _kinds(faults), "fault")
    return made


def do(faults: Faults, text: str) -> object:
    """Carry out an action once, such as ``expire_transaction orders`` or ``kill_node 2``; returns its result.

    :raises FaultError: this broker cannot do it.
    """
    kind, options = _read(text, _deeds(faults), "deed")
    return do_parts(faults, kind, options)


def do_parts(faults: Faults, kind: str, options: Mapping[str, Any]) -> object:
    """Like :func:`do`, from a kind and its options."""
    return _call(faults, kind, options, _deeds(faults), "deed")


def _kinds(faults: Faults) -> Mapping[str, Sequence[str]]:
    return {**KINDS, **INSIDE} if hasattr(faults, "hold_markers") else KINDS


def _deeds(faults: Faults) -> Mapping[str, Sequence[str]]:
    return DEEDS if hasattr(faults, "hold_markers") else {}


def _check(kind: str, kinds: Mapping[str, Sequence[str]], what: str) -> None:
    if kind not in kinds:
        known = f"name one of {', '.join(kinds)}" if kinds else "a proxy supports none: use oncelog serve --faults"
        raise FaultError(f"there is no {what} {kind!r}{nearest(kind, kinds) or ': ' + known}")


def _read(text: str, kinds: Mapping[str, Sequence[str]], what: str) -> tuple[str, dict[str, Any]]:
    kind, *words = text.split() or [""]
    _check(kind, kinds, what)
    options: dict[str, Any] = {}
    places = list(kinds[kind])
    for word in words:
        name, separator, value = word.partition("=")
        if not separator:
            name, value = (next((place for place in places if place not in options), ""), word)
            if not name:
                raise FaultError(f"{kind} takes no further positional argument: write NAME=VALUE instead of {word!r}")
        if name in options:
            raise FaultError(f"{name} is given twice: remove {word!r}")
        options[name] = _value(name, value)
    return kind, options


def _call(faults: Faults, kind: str, options: Mapping[str, Any], kinds: Mapping[str, Sequence[str]], what: str) -> Any:
    _check(kind, kinds, what)
    given = _times(options)
    for name, value in given.items():
        if isinstance(value, list | dict):
            raise FaultError(f"{name} is a name or a number, not {value!r:.200}")
    make = getattr(faults, kind)
    try:
        inspect.signature(make).bind(**given)
    except TypeError as error:
        raise FaultError(f"{kind} cannot be created from {dict(options)}: {error}") from None
    return make(**given)


def _times(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with ``times=always`` replaced by None, which means any number of times."""
    return {name: None if name == "times" and value == "always" else value for name, value in options.items()}


def _value(name: str, text: str) -> object:
    read = _NUMBERS.get(name)
    if read is None or (name == "times" and text == "always"):
        return text
    try:
        return read(text)
    except ValueError:
        raise FaultError(f"{name} is a number, not {text!r}") from None
