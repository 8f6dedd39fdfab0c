"""Spares Spark's Python workers from examining everything they have imported in the collection after each call.

Called where a task begins, and where a worker beside the driver has made or used a writer. Spark collects garbage after
each call; with Spark, Arrow and a client loaded that takes 20 to 40 ms of CPU, more than the rest of a small one.
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
