"""Defines a use of a private API, and its fallback where Spark no longer has the API."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, ParamSpec, TypeVar

from oncelog.spark.process import this_process

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)

SEEN = "3.5.9, 4.0.5, 4.3.0"
"""The versions on which a session was checked to have everything that the uses need; versions between them were not
tested. ``tests/compatibility/spark_versions`` checks each."""


class ApiMissing(Exception):
    """Spark does not have the private API."""


@dataclass(frozen=True)
class PrivateApi(Generic[P, T]):
    """A use of a private API; it is called like its function.

    :param function: the function that uses the API.
    :param needs: the members that Spark must have, each as ``owner.member``; the owners are those of
        ``tests/support/private_spark_apis.py``.
    :param seen: the versions of PySpark on which it worked.
    :param buys: its benefit for users.
    :param instead: the fallback, with the same arguments.
    :param loses: the fallback's drawback for users; for the log.
    """

    function: Callable[P, T]
    needs: tuple[str, ...]
    seen: str
    buys: str
    instead: Callable[P, T]
    loses: str

    def __call__(self, *given: P.args, **named: P.kwargs) -> T:
        known = this_process().part(KnownApis)
        if self.name in known.missing:
            return self.instead(*given, **named)
        try:
            found = self.function(*given, **named)
        except _errors() as error:
            if not _means_missing(error):
                raise
            known.say_missing(self.name, self.loses, error)
            return self.instead(*given, **named)
        known.there.add(self.name)
        return found

    @property
    def name(self) -> str:
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

    def is_missing(self, *given: P.args, **named: P.kwargs) -> bool:
        """Whether Spark lacks the API. Calls the function unless an earlier call has shown this."""
        known = this_process().part(KnownApis)
        if self.name not in known.there | known.missing:
            self(*given, **named)
        return self.name in known.missing


def private_api(
    *needs: str, buys: str, instead: Callable[P, T], loses: str, seen: str = SEEN
) -> Callable[[Callable[P, T]], PrivateApi[P, T]]:
    """A decorator that makes a function a :class:`PrivateApi`."""
    return lambda function: PrivateApi(function, needs, seen, buys, instead, loses)


class KnownApis:
    """The names of uses that Spark has, and of those that it does not have; kept by the process."""

    def __init__(self) -> None:
        self.there: set[str] = set()
        self.missing: set[str] = set()

    def say_missing(self, name: str, loses: str, error: object) -> None:
        """Log that Spark lacks an API, unless it was logged before."""
        if name not in self.missing:
            self.missing.add(name)
            logger.info("this Spark lacks an API for %s (%s): %s", name, _first_line(error), loses)

    def close(self) -> None:
        self.there.clear()
        self.missing.clear()


def _errors() -> tuple[type[Exception], ...]:
    """The exceptions that a missing attribute, module, class, method or argument raises; with py4j's if py4j is in
    use."""
    py4j = sys.modules.get("py4j.protocol")
    here = (ApiMissing, AttributeError, ImportError, TypeError)
    return here if py4j is None else (*here, py4j.Py4JError)


def _means_missing(error: Exception) -> bool:
    """Whether an error may mean that the API is missing. Java exceptions and lost connections, which are subclasses of
    ``Py4JError``, do not count."""
    py4j = sys.modules.get("py4j.protocol")
    return py4j is None or not isinstance(error, py4j.Py4JError) or type(error) is py4j.Py4JError


def _first_line(error: object) -> str:
    """The line of an error that names a missing Java method, which is not py4j's first line; otherwise the first
    line."""
    lines = [line for line in str(error).splitlines() if "does not exist" in line] or str(error).splitlines()
    return lines[0].removeprefix("py4j.Py4JException: ") if lines else type(error).__name__
