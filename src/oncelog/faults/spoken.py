"""Faults as text: what ``oncelog proxy --fault`` and the control over HTTP take.

``lose_answer Produce topic=orders times=1``, ``delay 200 Fetch``, ``answer_error EndTxn NOT_COORDINATOR``,
``cut_connection after Produce``, ``throttle 500 Produce``, ``blackhole client_id=web``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from oncelog.config import nearest
from oncelog.faults.rules import Fault, FaultError, Faults

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
"""Each kind of fault with the words that may follow it without a name, in order."""
_NUMBERS: Final[Mapping[str, Callable[[str], object]]] = {
    "ms": int,
    "times": int,
    "skip": int,
    "seed": int,
    "partition": int,
    "version": int,
    "probability": float,
}


def add_fault(faults: Faults, text: str) -> Fault:
    """The fault that the text names, in force from now on.

    :raises FaultError: it names none, or one that cannot be.
    """
    kind, *words = text.split() or [""]
    if kind not in KINDS:
        raise FaultError(f"there is no fault {kind!r}{nearest(kind, KINDS)}: name one of {', '.join(KINDS)}")
    options: dict[str, Any] = {}
    places = list(KINDS[kind])
    for word in words:
        name, separator, value = word.partition("=")
        if not separator:
            name, value = (next((place for place in places if place not in options), ""), word)
            if not name:
                raise FaultError(f"{kind} takes no more words: write NAME=VALUE instead of {word!r}")
        options[name] = _value(name, value)
    return make_fault(faults, kind, options)


def make_fault(faults: Faults, kind: str, options: Mapping[str, Any]) -> Fault:
    """As :func:`add_fault`, from the parts."""
    if kind not in KINDS:
        raise FaultError(f"there is no fault {kind!r}{nearest(kind, KINDS)}: name one of {', '.join(KINDS)}")
    try:
        made: Fault = getattr(faults, kind)(**_times(options))
    except TypeError as error:
        raise FaultError(f"{kind} cannot be made of {dict(options)}: {error}") from None
    return made


def _times(options: Mapping[str, Any]) -> dict[str, Any]:
    """``times=always`` is without an end."""
    return {name: None if name == "times" and value == "always" else value for name, value in options.items()}


def _value(name: str, text: str) -> object:
    read = _NUMBERS.get(name)
    if read is None or (name == "times" and text == "always"):
        return text
    try:
        return read(text)
    except ValueError:
        raise FaultError(f"{name} is a number, not {text!r}") from None
