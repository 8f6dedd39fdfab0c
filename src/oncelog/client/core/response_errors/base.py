"""The base of all errors sent by brokers."""

from __future__ import annotations

from typing import ClassVar

from oncelog.errors import CodeAttribute, Error, KafkaError

_NAMES_IN_AIOKAFKA = {
    Error.UNKNOWN_SERVER_ERROR: "UNKNOWN",
    Error.NONE: "NO_ERROR",
    Error.NOT_LEADER_OR_FOLLOWER: "NOT_LEADER_FOR_PARTITION",
    Error.MESSAGE_TOO_LARGE: "MESSAGE_SIZE_TOO_LARGE",
    Error.INVALID_TOPIC_EXCEPTION: "INVALID_TOPIC",
    Error.INVALID_REPLICA_ASSIGNMENT: "INVALID_REPLICATION_ASSIGNMENT",
}
"""aiokafka's name for each error that has another name in Apache Kafka today."""


class BrokerResponseError(KafkaError):
    """A broker refused a request; ``errno`` is the error code, ``message`` aiokafka's name for it."""

    errno: int = CodeAttribute(int)  # type: ignore[assignment]
    message: str = CodeAttribute(lambda row: _NAMES_IN_AIOKAFKA.get(row, row.name))  # type: ignore[assignment]
    description: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.description = cls.__doc__ or ""


__all__ = ["BrokerResponseError"]
