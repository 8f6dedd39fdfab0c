"""The base of all errors sent by brokers."""

from __future__ import annotations

from oncelog.errors import KafkaError


class BrokerResponseError(KafkaError):
    """A broker refused a request; ``errno`` is the code."""

    @property
    def errno(self) -> int:
        return int(self.error)

    @property
    def description(self) -> str:
        return type(self).__doc__ or ""


__all__ = ["BrokerResponseError"]
