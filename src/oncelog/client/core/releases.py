"""Which release of Apache Kafka first had what a broker does not offer, for messages.

Called by the connection. Brokers do not report their release, but the versions of the APIs that they serve.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from oncelog.protocol.api_keys import ApiKey

OLDEST = "2.5"
"""The oldest release with which transactions keep their promise: the first to compare the generation of a group's
member with the offsets that a transaction commits (KIP-447)."""
_TELLS_THE_OLDEST = (ApiKey.TXN_OFFSET_COMMIT, 3)

_FIRST: Mapping[ApiKey, Mapping[int, str]] = MappingProxyType(
    {
        ApiKey.LIST_OFFSETS: {7: "3.0"},
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: {0: "2.7"},
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: {0: "2.7"},
        ApiKey.DESCRIBE_PRODUCERS: {0: "2.8"},
        ApiKey.DESCRIBE_TRANSACTIONS: {0: "3.0"},
        ApiKey.LIST_TRANSACTIONS: {0: "3.0", 1: "3.8", 2: "4.1"},
        ApiKey.CONSUMER_GROUP_HEARTBEAT: {0: "3.7", 1: "4.0"},
        ApiKey.CONSUMER_GROUP_DESCRIBE: {0: "3.8"},
    }
)
"""By API, the versions that not all supported releases have."""


def first_with(key: ApiKey, version: int) -> str | None:
    """The release whose brokers first had a version of an API; None for what all that are supported have."""
    known = [(number, release) for number, release in _FIRST.get(key, {}).items() if number <= version]
    return max(known)[1] if known else None


def is_too_old(offered: Mapping[int, tuple[int, int]]) -> bool:
    """Whether a broker with these versions, by API, is older than :data:`OLDEST`.

    One that has no transactions at all is not Apache Kafka; it is asked nothing about them.
    """
    key, version = _TELLS_THE_OLDEST
    return key in offered and offered[key][1] < version


__all__ = ["OLDEST", "first_with", "is_too_old"]
