"""Properties given to a command: in a file (``--config``) and one by one (``--set``); ``--set`` takes precedence.

Called by every command that has the two options.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from oncelog.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def given_properties(config: Path | None, assignments: Iterable[str]) -> dict[str, str]:
    """The properties by name, with their values as text.

    :raises ConfigError: the file cannot be read, or an assignment is not NAME=VALUE.
    """
    settings: dict[str, str] = {}
    if config is not None:
        from oncelog.settings.properties_file import load_properties

        try:
            settings.update(load_properties(config.read_text(encoding="utf-8-sig")))
        except OSError as error:
            raise ConfigError(f"the properties file {config} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"the properties file {config} is not UTF-8 text: {error.reason}") from error
    settings.update(named_values("--set", assignments))
    return settings


def named_values(option: str, assignments: Iterable[str]) -> dict[str, str]:
    """The pairs of a repeated option NAME=VALUE."""
    pairs: dict[str, str] = {}
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not separator or not name.strip():
            raise ConfigError(f"{option} takes NAME=VALUE, not {assignment!r}")
        pairs[name.strip()] = value.strip()
    return pairs
