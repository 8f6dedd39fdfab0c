"""The one exception of the record format; every function of this package that reads bytes may raise it."""

from __future__ import annotations

from oncelog.errors import OncelogError


class CorruptBatch(OncelogError):
    """Bytes that claim to be a record batch break the format, or unpack to more than the caller's limit."""


class UnpacksTooLarge(CorruptBatch):
    """A batch unpacks to more than the caller allows; a producer may come again with smaller ones."""
