"""Our broker with the APIs and versions of an older Apache Kafka, for what clients do with what is not offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest

from oncelog import Broker
from oncelog.broker.core.registry import SERVED
from oncelog.protocol.api_keys import ApiKey

KAFKA_2_8: Mapping[int, int] = dict(enumerate(
    [9, 12, 6, 11, 5, 3, 7, 3, 8, 7, 3, 7, 4, 4, 5, 5, 4, 1, 3, 7, 6, 2, 4, 4, 3, 3, 3, 1, 3, 2, 2, 2, 4, 2, 2, 2, 2, 3,
     2, 2, 2, 2, 2, 2, 1, 0, 0, 0, 1, 1, 0, 0]
)) | {ApiKey.API_VERSIONS: 2, 56: 0, 57: 0, 60: 0, 61: 0}  # fmt: skip
"""Highest versions by API, as Apache Kafka 2.8.2 answers ApiVersions, but for ApiVersions 3: it would tell of
features, of which 2.8 has none."""
KAFKA_2_4: Mapping[int, int] = {key: version for key, version in KAFKA_2_8.items() if key <= 47} | {
    ApiKey.TXN_OFFSET_COMMIT: 2,
    ApiKey.OFFSET_FETCH: 6,
    ApiKey.INIT_PRODUCER_ID: 2,
}
"""As far as it differs from 2.8 in what matters here."""
KAFKA_2_3: Mapping[int, int] = {key: version for key, version in KAFKA_2_4.items() if key <= 44}
"""Without the APIs of 2.4."""


@contextmanager
def older_broker(
    highest: Mapping[int, int] = KAFKA_2_8, settings: Mapping[str, object] | None = None
) -> Iterator[Broker]:
    """A broker that offers these versions at most, and no other API."""
    with pytest.MonkeyPatch.context() as patch:
        for key, row in list(SERVED.items()):
            if highest.get(key, -1) < row.low:
                patch.delitem(SERVED, key)
            else:
                patch.setitem(SERVED, key, replace(row, high=min(row.high, highest[key])))
        with Broker(settings=settings) as broker:
            yield broker


__all__ = ["KAFKA_2_3", "KAFKA_2_4", "KAFKA_2_8", "older_broker"]
