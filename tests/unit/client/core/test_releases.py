"""What a message says of brokers that lack something."""

from __future__ import annotations

import pytest

from oncelog.apps.conformance.registry import all_checks
from oncelog.client.core.releases import first_with, is_since, is_too_old, shown_by
from oncelog.protocol.api_keys import ApiKey
from tests.support.older_broker import KAFKA_2_4, KAFKA_2_8


@pytest.mark.parametrize(
    ("key", "version", "release"),
    [
        (ApiKey.LIST_TRANSACTIONS, 0, "3.0"),
        (ApiKey.LIST_TRANSACTIONS, 1, "3.8"),  # KIP-994
        (ApiKey.DESCRIBE_PRODUCERS, 0, "2.8"),  # KIP-664
        (ApiKey.FETCH, 15, "3.5"),  # KIP-903
        (ApiKey.FETCH, 16, "3.7"),  # KIP-951
        (ApiKey.OFFSET_FETCH, 8, "3.0"),  # KIP-709
        (ApiKey.OFFSET_FETCH, 9, "3.7"),  # KIP-848
        (ApiKey.LIST_OFFSETS, 7, "3.0"),  # KIP-734
        (ApiKey.LIST_OFFSETS, 6, None),
        (ApiKey.LIST_OFFSETS, 10, "4.0"),  # KIP-1075
        (ApiKey.PRODUCE, 12, "4.0"),  # KIP-890
        (ApiKey.END_TXN, 3, None),
        (ApiKey.METADATA, 12, None),
        (ApiKey.DESCRIBE_CLUSTER, 0, "2.8"),  # KIP-700
        (ApiKey.ALTER_CLIENT_QUOTAS, 0, "2.6"),  # KIP-546
        (ApiKey.UPDATE_FEATURES, 0, "2.7"),  # KIP-584
        (ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, "2.7, with KRaft since 3.5"),  # KIP-554, KIP-900
    ],
)
def test_the_first_kafka_release_with_an_api_version_is_found(key: ApiKey, version: int, release: str | None) -> None:
    assert first_with(key, version) == release


def test_brokers_before_2_5_are_recognised_by_txn_offset_commit_versions() -> None:
    """TxnOffsetCommit 3 came with KIP-447."""
    assert is_too_old({key: (0, version) for key, version in KAFKA_2_4.items()})
    assert not is_too_old({key: (0, version) for key, version in KAFKA_2_8.items()})
    assert not is_too_old({ApiKey.PRODUCE: (0, 2), ApiKey.METADATA: (0, 4)}), "it has no transactions"


def test_the_release_of_a_broker_follows_from_its_api_versions() -> None:
    offered: dict[int, tuple[int, int]] = {
        ApiKey.ADD_PARTITIONS_TO_TXN: (0, 4),
        ApiKey.PRODUCE: (0, 9),
        ApiKey.LIST_OFFSETS: (0, 8),
    }
    assert [release for release in ("3.0", "3.6", "3.7", "3.9", "4.0") if is_since(offered, release)] == ["3.0", "3.6"]


def test_every_release_named_in_a_message_is_recognised_by_a_version() -> None:
    assert all(shown_by(check.since) for check in all_checks() if check.since)
