"""Imports the compiled modules, which are optional.

``ONCELOG_PURE=1`` in the environment selects their twins in Python in any case; nothing else reads that variable.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


def import_compiled(name: str) -> tuple[Any, str]:
    """A compiled module, or None and the reason why there is none."""
    if os.environ.get("ONCELOG_PURE", "") not in ("", "0"):
        return None, "ONCELOG_PURE is set"
    try:
        return import_module(name), ""
    except ImportError as error:
        return None, f"the compiled module is missing: {error}"
