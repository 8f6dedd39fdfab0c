"""The one exception of the record format; every function of this package that reads bytes may raise it."""

from __future__ import annotations

from oncelog.errors import OncelogError


class CorruptBatch(OncelogError):
    """Bytes that should be a record batch violate the format, or decompress to more than the caller's limit."""


class UnpacksTooLarge(CorruptBatch):
    """A batch decompresses to more than the caller allows; a producer may retry with smaller ones."""
