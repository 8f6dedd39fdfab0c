"""How long to wait before trying again (KIP-580): doubling from a first wait up to a maximum.

Without jitter: a client's cores are deterministic, and the I/O layer adds jitter to reconnects, where it matters.
"""

from __future__ import annotations


def backoff_ms(attempts: int, first_ms: int, greatest_ms: int) -> int:
    """The wait after the ``attempts``-th failure (1 is the first)."""
    return int(min(first_ms * 2 ** min(attempts - 1, 20), greatest_ms))
