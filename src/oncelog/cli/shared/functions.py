"""Loads functions of the user's program that an option names."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from oncelog.errors import ConfigError


def transform_named(given: str) -> Callable[[Any], Any]:
    """Load the function that ``--transform MODULE:FUNCTION`` names, from a module of the current folder or an installed
    module. The current folder stays on the module search path, because the function may import other modules when it is
    called."""
    module, _, name = given.partition(":")
    if not module or not name:
        raise ConfigError(f"--transform takes MODULE:FUNCTION, not {given!r}")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(import_module(module), name, None)
    except Exception as error:
        raise ConfigError(f"--transform {given} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise ConfigError(f"--transform {given}: module {module} has no function {name}")
    function: Callable[[Any], Any] = found
    return function
