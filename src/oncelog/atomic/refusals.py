"""Errors that end a program that writes to a database and to a log."""

from __future__ import annotations

from oncelog.errors import OncelogError


class AtomicError(OncelogError):
    """Database and log contradict each other, or the program has broken a rule of this package."""


class Superseded(AtomicError):
    """Another instance with the same name has taken over; this instance must end."""


class Mismatch(AtomicError):
    """The database and the log contradict each other: one of them was restored to an earlier state, or they do not
    belong together."""
