"""``aiokafka.admin.config_resource``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class ConfigResourceType(IntEnum):
    """What kind of resource has the settings."""

    BROKER = 4
    TOPIC = 2


class ConfigResource:
    """A topic or a broker, with the settings to ask for or to set."""

    def __init__(
        self, resource_type: ConfigResourceType | str, name: str | int, configs: Mapping[str, str] | None = None
    ) -> None:
        if not isinstance(resource_type, ConfigResourceType):
            resource_type = ConfigResourceType[str(resource_type).upper()]
        self.resource_type = resource_type
        self.name = name
        self.configs = configs


__all__ = ["ConfigResource", "ConfigResourceType"]
