"""``aiokafka.admin.config_resource``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from oncelog.client.core.arguments import misfit


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
            name_of_type = str(resource_type).upper()
            if name_of_type not in ConfigResourceType.__members__:
                sentence = "the type of a ConfigResource is {wanted}.TOPIC or {wanted}.BROKER, not {given}"
                raise KeyError(misfit(ConfigResourceType, resource_type, sentence))
            resource_type = ConfigResourceType[name_of_type]
        self.resource_type = resource_type
        self.name = name
        self.configs = configs


__all__ = ["ConfigResource", "ConfigResourceType"]
