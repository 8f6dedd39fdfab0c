"""The interpreter as a process needs it that is a broker and nothing else; an embedded one shares it with its host.

What lives as long as its partition is not looked at by the garbage collector again and again: a full collection takes
as long as there are objects, with 1,000 partitions some 20 ms, in which nobody is served. And a thread that computes
does not keep the loop waiting for long, each time that this has let go of the interpreter to send or to receive.
"""

from __future__ import annotations

import gc
import sys

COLLECT_AFTER = 500, 2, 2_400
"""Python's own are 700, 10 and 10: collections that seldom find anything, within somebody's turn. One of 500 objects
takes an eighth of a millisecond, one of what three of them left less than a half."""
STEP = 50
"""New partitions that are worth it."""
GIVE_WAY_S = 0.0005
"""After which a thread that computes lets another one go on; Python's own is ten times as long."""


class LongLived:
    """Follows the number of partitions; ``count`` is called from time to time, on the loop's thread."""

    def __init__(self) -> None:
        self._partitions = 0
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        sys.setswitchinterval(GIVE_WAY_S)

    def count(self, partitions: int) -> None:
        """Set what there is aside once more where partitions came; look at all of it again where half of them went.

        Partitions that are deleted go without the collector: nothing of theirs leads back to itself.
        """
        if partitions >= self._partitions + STEP:
            gc.freeze()
        elif partitions <= self._partitions // 2 and self._partitions:
            gc.unfreeze()
        else:
            return
        self._partitions = partitions
