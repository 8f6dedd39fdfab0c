"""Checks that the packages of an extra are installed. Called at the start of each part that needs one."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from oncelog.errors import OncelogError


def need_packages(what_needs: str, names: Iterable[str], extra: str) -> None:
    """Check that all these packages are installed.

    :param what_needs: subject and verb of the error's message, such as ``the console needs``.
    :raises OncelogError: some packages are not installed; the message says how to install them.
    """
    missing = [name for name in names if not _is_there(name)]
    if missing:
        them = "it" if len(missing) == 1 else "them"
        raise OncelogError(f"{what_needs} {', '.join(missing)}: install {them} with pip install 'oncelog[{extra}]'")


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the parent package of a dotted name is missing
        return False
