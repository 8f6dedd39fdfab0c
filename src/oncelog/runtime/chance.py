"""Random choices that leave alone the generator that programs seed, and differ in forked children.

Callers use it like the module ``random``: a client draws on a thread of its own, so a program that has seeded the
module's generator would get other numbers each time, and forked workers would choose the same partitions in step.
"""

from __future__ import annotations

from random import SystemRandom
from uuid import UUID

random = SystemRandom()


def uuid4() -> UUID:
    """A random UUID, also where a test has replaced ``uuid.uuid4`` by a constant."""
    return UUID(int=random.getrandbits(128), version=4)
