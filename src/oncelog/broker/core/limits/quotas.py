"""Validation of client quotas; ``throttle`` enforces them for clients, and the server for new connections.

Refusals have Kafka's messages. Source: Kafka's ``ClientQuotaControlManager``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from oncelog.broker.metadata.store import QuotaEntity
from oncelog.settings.config import is_address

USER, CLIENT_ID, IP = "user", "client-id", "ip"
_OF_USERS = {
    "producer_byte_rate": True,
    "consumer_byte_rate": True,
    "request_percentage": False,
    "controller_mutation_rate": False,
}
_OF_IPS = {"connection_creation_rate": True}
"""For each quota name whether the value must be an integer."""
_ORDER = ("consumer_byte_rate", "controller_mutation_rate", "request_percentage", "producer_byte_rate", *_OF_IPS)
"""The order of an entity's quotas in answers. For up to three quotas it is the order of Kafka's hash table, which
clients' tests rely on."""


class QuotaChange(NamedTuple):
    """One quota to be set or, with ``remove``, to be removed."""

    key: str
    value: float
    remove: bool


def in_order(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=lambda key: (_ORDER.index(key) if key in _ORDER else len(_ORDER), key))


def entity_of(parts: Sequence[tuple[str, str | None]]) -> QuotaEntity:
    """The entity with these parts; if two parts have the same type, the later one applies."""
    return tuple(sorted(dict(parts).items()))


def entity_refusal(entity: QuotaEntity) -> str | None:
    if not entity:
        return "Invalid empty client quota entity"
    kinds = {kind for kind, _ in entity}
    for kind, name in entity:
        if kind not in (USER, CLIENT_ID, IP):
            return f"Unhandled client quota entity type: {kind}"
        if name == "":
            return f"Empty {kind} not supported"
    if IP in kinds and len(kinds) > 1:
        return "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
    address = dict(entity).get(IP)
    if address is not None and not is_address(address):
        return f"{address} is not a valid IP or resolvable host."
    return None


def change_refusal(entity: QuotaEntity, change: QuotaChange) -> str | None:
    if change.remove:
        return None
    whole = (_OF_IPS if entity[0][0] == IP else _OF_USERS).get(change.key)
    if whole is None:
        return f"Invalid configuration key {change.key}"
    if not math.isfinite(change.value):
        return f"Quota {change.key} must be a finite number"
    if change.value <= 0:
        return f"Quota {change.key} must be greater than 0"
    if whole and change.value >= 2**63:
        return f"Proposed value for {change.key} is too large for a LONG."
    if whole and abs(change.value - round(change.value)) > 1e-6:
        return f"{change.key} cannot be a fractional value."
    return None
