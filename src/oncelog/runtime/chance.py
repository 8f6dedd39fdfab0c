"""Random numbers that are independent of Python's global generator, and differ in forked children.

Callers use this module like ``random``. If clients drew from the generator of that module, on a thread of their own, a
program that has seeded it would get other numbers each time; and forked workers would all choose the same partitions.
"""

from __future__ import annotations

from random import SystemRandom
from uuid import UUID

random = SystemRandom()


def uuid4() -> UUID:
    """A random UUID, also where a test has replaced ``uuid.uuid4`` by a constant."""
    return UUID(int=random.getrandbits(128), version=4)
