"""Spares Spark's Python workers from examining everything they have imported in each task's garbage collection.

Called where a task begins. With Spark, Arrow and a client loaded, a collection takes about 40 ms, more than everything
else in a small task.
"""

from __future__ import annotations

import gc
import os
import sys

from oncelog.spark.process import this_process


class Imports:
    """How many modules were imported when their objects were excluded last."""

    def __init__(self) -> None:
        self._count = 0

    def pass_over(self) -> None:
        if len(sys.modules) != self._count:
            self._count = len(sys.modules)
            gc.freeze()

    def close(self) -> None:
        self._count = 0


def pass_over_imports() -> None:
    """Exclude all current objects from later collections; again only after more has been imported."""
    if os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER":
        this_process().part(Imports).pass_over()
