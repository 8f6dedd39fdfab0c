"""Spark's Python workers collect garbage after each task: what they have imported need not be looked at each time.

Called where a task begins. With Spark, Arrow and a client loaded a collection takes some 40 ms, more than all else that
a small task does.
"""

from __future__ import annotations

import gc
import os
import sys

_imported = 0


def pass_over_imports() -> None:
    """Have later collections pass over what is there now; again only when more has been imported."""
    global _imported
    if os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER" and len(sys.modules) != _imported:
        _imported = len(sys.modules)
        gc.freeze()
