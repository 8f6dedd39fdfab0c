"""Exceptions of the metadata layer that are not Kafka errors."""

from __future__ import annotations

from oncelog.errors import OncelogError


class MetadataError(OncelogError):
    """The metadata cannot be used: they belong to another cluster or node, are damaged or in use, or have a newer
    format."""
