"""Exceptions of the metadata layer, besides the rows of the error table."""

from __future__ import annotations

from oncelog.errors import OncelogError


class MetadataError(OncelogError):
    """The metadata cannot be used: another cluster's or node's, damaged, in use, or of a newer format."""
