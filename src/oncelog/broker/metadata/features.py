"""Features of the cluster (KIP-584): their levels, and which updates are allowed.

Called by the store, which stores the finalized levels, and by the APIs UpdateFeatures and ApiVersions. Pure. Source:
Kafka's ``FeatureControlManager``, including the wording of its refusals.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

GROUP_VERSION: Final = "group.version"
"""The feature for the consumer protocol: groups can use it from level 1 on (KIP-848)."""
TRANSACTION_VERSION: Final = "transaction.version"
"""The feature for transactions: from level 1 on values of ``__transaction_state`` are flexible, from level 2 on each
transaction has its own epoch (KIP-890)."""

SHARE_VERSION: Final = "share.version"
"""The feature for share groups, which exist from level 1 on (KIP-932); from level 2 on they have dead letters
(KIP-1191)."""

SUPPORTED: Final[Mapping[str, tuple[int, int]]] = {
    GROUP_VERSION: (0, 1),
    SHARE_VERSION: (0, 2),
    TRANSACTION_VERSION: (0, 2),
}
"""The lowest and the highest supported level of each feature."""


class FinalizedFeatures(NamedTuple):
    """The feature levels in force. ``epoch`` increases with every change, also across restarts."""

    epoch: int
    levels: Mapping[str, int]

    def level(self, feature: str) -> int:
        """The feature's level; a feature at level 0 is not in force, and is not reported to clients."""
        return self.levels.get(feature, 0)


HIGHEST: Final = FinalizedFeatures(0, {name: high for name, (_, high) in SUPPORTED.items()})
"""The levels of a new cluster, the same as those that Apache Kafka's storage tool sets."""


class UpgradeType(IntEnum):
    """How a level may change (Kafka's ``FeatureUpdate.UpgradeType``); both kinds of downgrade have the same effect on
    these features."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """The level requested for one feature; ``upgrade_type`` is as received, and may be invalid."""

    level: int
    upgrade_type: int = UpgradeType.UPGRADE


class FeatureRefusal(NamedTuple):
    """The message for refusing all updates of a request (INVALID_UPDATE_VERSION)."""

    message: str


def updated(
    levels: Mapping[str, int], updates: Mapping[str, FeatureUpdate], node_id: int
) -> dict[str, int] | FeatureRefusal:
    """All levels after the updates. If one update is not allowed, all are refused; the message is about the first such
    feature in order of names."""
    after = dict(levels)
    for feature, update in sorted(updates.items()):
        reason = _fault(feature, update, levels.get(feature, 0), node_id)
        if reason is not None:
            return FeatureRefusal(
                "The update failed for all features since the following feature had an error: "
                f"Invalid update version {update.level} for feature {feature}. {reason}"
            )
        after[feature] = update.level
    return after


def _fault(feature: str, update: FeatureUpdate, current: int, node_id: int) -> str | None:
    if update.upgrade_type not in list(UpgradeType):
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    supported = SUPPORTED.get(feature)
    if supported is None and update.level == 0:
        return f"Feature {feature} not found."
    if supported is None:
        return f"Local controller {node_id} does not support this feature."
    low, high = supported
    if not low <= update.level <= high:
        return f"Local controller {node_id} only supports versions {low}-{high}"
    upgrade = update.upgrade_type == UpgradeType.UPGRADE
    if upgrade and update.level < current:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    if not upgrade and update.level > current:
        return "Can't downgrade to a newer version."
    return None
