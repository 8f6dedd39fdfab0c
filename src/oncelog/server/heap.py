"""What lives as long as its partition is not looked at by the garbage collector again and again.

A full collection takes as long as there are objects: with 1,000 partitions some 20 ms, in which nobody is served. Only
a process that is a broker and nothing else does so: an embedded one shares its collector with its host.
"""

from __future__ import annotations

import gc

COLLECT_AFTER = 3_000, 5, 240
"""Python's own are 700, 10 and 10: collections that seldom find anything, within somebody's turn. One of 3,000 objects
takes a third of a millisecond, one of what five of them left a millisecond or two."""
STEP = 50
"""New partitions that are worth it."""


class LongLived:
    """Follows the number of partitions; ``count`` is called from time to time, on the loop's thread."""

    def __init__(self) -> None:
        self._partitions = 0
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)

    def count(self, partitions: int) -> None:
        """Set what there is aside once more where partitions came; look at all of it again where some went."""
        if partitions >= self._partitions + STEP:
            gc.freeze()
        elif partitions < self._partitions:
            gc.unfreeze()
        else:
            return
        self._partitions = partitions
