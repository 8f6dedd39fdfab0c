"""What may be set as a quota, and for whom; messages are those of Kafka's ``ClientQuotaControlManager``."""

from __future__ import annotations

import math

import pytest

from oncelog.broker.core.limits.quotas import QuotaChange, change_refusal, entity_of, entity_refusal, in_order


@pytest.mark.parametrize(
    ("parts", "refusal"),
    [
        ([("user", "a"), ("client-id", None)], None),
        ([("ip", "192.0.2.1")], None),
        ([("ip", None)], None),
        ([], "Invalid empty client quota entity"),
        ([("group", "g")], "Unhandled client quota entity type: group"),
        ([("user", "")], "Empty user not supported"),
        ([("ip", "2001:db8::1")], None),
        ([("ip", "no address")], "no address is not a valid IP or resolvable host."),
        ([("ip", "a.invalid")], "a.invalid is not a valid IP or resolvable host."),
        ([("ip", "192.0.2.300")], "192.0.2.300 is not a valid IP or resolvable host."),
        (
            [("ip", "192.0.2.1"), ("user", "a")],
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
    ],
)
def test_an_entity_that_cannot_have_quotas_is_refused(parts: list[tuple[str, str | None]], refusal: str | None) -> None:
    assert entity_refusal(entity_of(parts)) == refusal


@pytest.mark.parametrize(
    ("entity", "key", "value", "refusal"),
    [
        ("user", "consumer_byte_rate", 1024.0, None),
        ("user", "request_percentage", 12.5, None),
        ("user", "connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        ("ip", "connection_creation_rate", 1.0, None),
        ("user", "consumer_byte_rate", math.nan, "Quota consumer_byte_rate must be a finite number"),
        ("user", "consumer_byte_rate", 0.0, "Quota consumer_byte_rate must be greater than 0"),
        ("user", "consumer_byte_rate", 2.0**63, "Proposed value for consumer_byte_rate is too large for a LONG."),
        ("user", "consumer_byte_rate", 1.5, "consumer_byte_rate cannot be a fractional value."),
    ],
)
def test_a_value_that_is_not_a_quota_is_refused(entity: str, key: str, value: float, refusal: str | None) -> None:
    name = "192.0.2.1" if entity == "ip" else "a"
    assert change_refusal(((entity, name),), QuotaChange(key, value, remove=False)) == refusal
    assert change_refusal(((entity, name),), QuotaChange(key, value, remove=True)) is None


def test_quota_keys_have_a_fixed_order_with_unknown_keys_last() -> None:
    assert in_order(["zzz", "aaa", "request_percentage", "producer_byte_rate"])[-2:] == ["aaa", "zzz"]
