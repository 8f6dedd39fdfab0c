"""``aiokafka.admin.config_resource``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from oncelog.client.core.arguments import misfit


class ConfigResourceType(IntEnum):
    """The kind of a resource that has settings: broker or topic."""

    BROKER = 4
    TOPIC = 2


class ConfigResource:
    """A topic or a broker, with the names of the settings to read or the values to set."""

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
