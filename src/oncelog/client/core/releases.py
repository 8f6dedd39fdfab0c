"""Determines the first release of Apache Kafka with a feature that a broker lacks, and whether a broker is too old.

Called by the connection, for messages, and by the conformance checks. Brokers do not report their release, only the
versions of the APIs that they serve.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from oncelog.protocol.api_keys import ApiKey

OLDEST = "2.5"
"""The oldest supported release of Apache Kafka. It is the first that keeps exactly-once semantics for consumed offsets:
it checks the group member's generation when a transaction commits them (KIP-447)."""
_TELLS: Mapping[str, tuple[ApiKey, int]] = MappingProxyType(
    {
        "2.5": (ApiKey.TXN_OFFSET_COMMIT, 3),
        "3.0": (ApiKey.LIST_OFFSETS, 7),
        "3.6": (ApiKey.ADD_PARTITIONS_TO_TXN, 4),
        "3.7": (ApiKey.PRODUCE, 10),
        "3.8": (ApiKey.PRODUCE, 11),
        "3.9": (ApiKey.LIST_OFFSETS, 9),
        "4.0": (ApiKey.PRODUCE, 12),
        "4.4": (ApiKey.TXN_OFFSET_COMMIT, 6),
    }
)
"""For each release, the API and the version that brokers have from that release on, whatever their configuration."""

_FIRST: Mapping[ApiKey, Mapping[int, str]] = MappingProxyType(
    {
        ApiKey.PRODUCE: {10: "3.7", 11: "3.8", 12: "4.0", 13: "4.1"},
        ApiKey.FETCH: {13: "3.1", 14: "3.5", 16: "3.7", 17: "3.9", 18: "4.1"},
        ApiKey.LIST_OFFSETS: {7: "3.0", 8: "3.5", 9: "3.9", 10: "4.0", 11: "4.2"},
        ApiKey.FIND_COORDINATOR: {4: "3.0", 5: "3.8"},
        ApiKey.OFFSET_FETCH: {8: "3.0", 9: "3.7", 10: "4.1"},
        ApiKey.ADD_PARTITIONS_TO_TXN: {4: "3.6", 5: "3.8"},
        ApiKey.END_TXN: {4: "3.8", 5: "4.0"},
        ApiKey.TXN_OFFSET_COMMIT: {4: "3.8", 5: "4.0", 6: "4.4"},
        ApiKey.API_VERSIONS: {5: "4.4"},
        ApiKey.DELETE_GROUPS: {3: "4.4"},
        ApiKey.DESCRIBE_CLIENT_QUOTAS: {0: "2.6"},
        ApiKey.ALTER_CLIENT_QUOTAS: {0: "2.6"},
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: {0: "2.7, with KRaft since 3.5"},
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: {0: "2.7, with KRaft since 3.5"},
        ApiKey.UPDATE_FEATURES: {0: "2.7", 1: "3.3", 2: "4.0"},
        ApiKey.DESCRIBE_CLUSTER: {0: "2.8", 1: "3.7", 2: "4.0"},
        ApiKey.DESCRIBE_PRODUCERS: {0: "2.8"},
        ApiKey.DESCRIBE_TRANSACTIONS: {0: "3.0"},
        ApiKey.LIST_TRANSACTIONS: {0: "3.0", 1: "3.8", 2: "4.1"},
        ApiKey.CONSUMER_GROUP_HEARTBEAT: {0: "3.7", 1: "4.0"},
        ApiKey.CONSUMER_GROUP_DESCRIBE: {0: "3.8", 1: "4.0"},
    }
)
"""For each API, the release that first had a version, for versions that not all supported releases have. A version that
is not listed came with the version before it."""


def first_with(key: ApiKey, version: int) -> str | None:
    """The release whose brokers first had a version of an API; None if all supported releases have it."""
    known = [(number, release) for number, release in _FIRST.get(key, {}).items() if number <= version]
    return max(known)[1] if known else None


def is_too_old(offered: Mapping[int, tuple[int, int]]) -> bool:
    """Whether a broker that offers these versions is older than :data:`OLDEST`.

    A broker that does not offer transactions at all is not Apache Kafka, and counts as new enough.
    """
    return _TELLS[OLDEST][0] in offered and not is_since(offered, OLDEST)


def too_old(address: str) -> str:
    """The message with which a broker is refused for which :func:`is_too_old` is true."""
    return (
        f"{address} is older than Apache Kafka {OLDEST}, the first that refuses a transaction's offsets from a former "
        f"member of the group: upgrade the brokers to {OLDEST} or newer"
    )


def shown_by(release: str) -> tuple[ApiKey, int]:
    """The API and the version by which brokers of ``release`` and newer are recognised."""
    return _TELLS[release]


def is_since(offered: Mapping[int, tuple[int, int]], release: str) -> bool:
    """Whether a broker that offers these versions has the features of ``release``, which must be a key of ``_TELLS``.

    A broker that is not Apache Kafka is judged by the same versions.
    """
    key, version = shown_by(release)
    return offered.get(key, (0, -1))[1] >= version


__all__ = ["OLDEST", "first_with", "is_since", "is_too_old", "shown_by", "too_old"]
