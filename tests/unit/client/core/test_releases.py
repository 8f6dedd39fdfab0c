"""What a message says of brokers that lack something."""

from __future__ import annotations

import pytest

from oncelog.client.core.releases import first_with, is_too_old
from oncelog.protocol.api_keys import ApiKey
from tests.support.older_broker import KAFKA_2_4, KAFKA_2_8


@pytest.mark.parametrize(
    ("key", "version", "release"),
    [
        (ApiKey.LIST_TRANSACTIONS, 0, "3.0"),
        (ApiKey.LIST_TRANSACTIONS, 1, "3.8"),  # KIP-994
        (ApiKey.DESCRIBE_PRODUCERS, 0, "2.8"),  # KIP-664
        (ApiKey.LIST_OFFSETS, 7, "3.0"),  # KIP-734
        (ApiKey.LIST_OFFSETS, 6, None),
        (ApiKey.METADATA, 12, None),
    ],
)
def test_the_release_that_first_had_a_version_is_named(key: ApiKey, version: int, release: str | None) -> None:
    assert first_with(key, version) == release


def test_brokers_before_2_5_are_known_by_their_offsets_in_transactions() -> None:
    """TxnOffsetCommit 3 came with KIP-447."""
    assert is_too_old({key: (0, version) for key, version in KAFKA_2_4.items()})
    assert not is_too_old({key: (0, version) for key, version in KAFKA_2_8.items()})
    assert not is_too_old({ApiKey.PRODUCE: (0, 2), ApiKey.METADATA: (0, 4)}), "it has no transactions"
