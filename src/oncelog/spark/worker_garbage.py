"""Spares Spark's Python workers from examining everything they have imported in each task's garbage collection.

Called where a task begins. With Spark, Arrow and a client loaded, a collection takes about 40 ms, more than everything
else in a small task.
"""

from __future__ import annotations

import gc
import os
import sys

_imported = 0


def pass_over_imports() -> None:
    """Exclude all current objects from later collections; again only after more has been imported."""
    global _imported
    if os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER" and len(sys.modules) != _imported:
        _imported = len(sys.modules)
        gc.freeze()
