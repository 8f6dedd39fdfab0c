"""This process's loggers under Kafka's level names, for the config APIs (KIP-412).

Changed levels last until the process ends.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

ROOT = "root"
LEVELS = {
    "TRACE": logging.DEBUG // 2,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


def levels() -> Mapping[str, str]:
    """Effective level by name, for the root logger and every logger of oncelog, sorted by name."""
    known = logging.root.manager.loggerDict
    ours = [name for name, logger in known.items() if name.split(".")[0] == "oncelog" and _is_logger(logger)]
    return {ROOT: _name_of(logging.root)} | {name: _name_of(logging.getLogger(name)) for name in sorted(ours)}


def set_level(name: str, level: str | None) -> None:
    """Set the level of a logger in :func:`levels`; None lets it follow its parent, and sets the root logger to WARN."""
    if name == ROOT:
        logging.root.setLevel(LEVELS[level or "WARN"])
    else:
        logging.getLogger(name).setLevel(LEVELS[level] if level is not None else logging.NOTSET)


def _is_logger(logger: object) -> bool:
    return isinstance(logger, logging.Logger)


def _name_of(logger: logging.Logger) -> str:
    effective = logger.getEffectiveLevel()
    return next((name for name, level in LEVELS.items() if effective <= level), "FATAL")
