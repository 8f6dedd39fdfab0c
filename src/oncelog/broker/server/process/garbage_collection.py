"""Tunes the interpreter for a process that runs only a broker; an embedded broker does not, because it shares the
interpreter with other code.

Objects that live as long as their partition are excluded from repeated garbage collections: a full one takes time
proportional to the number of objects, about 20 ms with 1,000 partitions, during which no request is served. Besides,
the switch interval is shorter, so that a computing thread gives the interpreter's lock back to the event loop sooner.
"""

from __future__ import annotations

import gc
import sys

COLLECT_AFTER = 500, 2, 2_400
"""The thresholds for ``gc.set_threshold``. Collections rarely find anything and delay a request, so young ones are
smaller, and full ones much rarer, than with Python's own thresholds. A collection of 500 objects takes an eighth of a
millisecond; after three of those, a collection of the next older generation takes less than half a millisecond."""
STEP = 50
"""The number of new partitions after which objects are frozen again (``gc.freeze``)."""
GIVE_WAY_S = 0.0005
"""The time in seconds after which a computing thread lets another one run; Python's default is ten times as long."""


class GarbageCollection:
    """Adjusts garbage collection to the number of partitions; ``count`` is called periodically on the event loop's
    thread."""

    def __init__(self) -> None:
        self._partitions = 0
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        sys.setswitchinterval(GIVE_WAY_S)

    def count(self, partitions: int) -> None:
        """Freeze all objects again if partitions were added; unfreeze and collect if half of them are gone.

        Important resources do not wait for a collection: the parts of a log have only weak references to it, the error
        of a failed sync has no traceback, and removing a file closes it. So a deleted partition is freed when its last
        sync or read ends.
        """
        if partitions >= self._partitions + STEP:
            gc.freeze()
        elif partitions <= self._partitions // 2 and self._partitions:
            gc.unfreeze()
        else:
            return
        self._partitions = partitions
