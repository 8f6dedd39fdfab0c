"""The error that ends a promotion."""

from __future__ import annotations

from oncelog.errors import OncelogError


class PromotionError(OncelogError):
    """The folder cannot be promoted; nothing was changed."""
