"""What an update of features may do; the messages are Apache Kafka 4.4.0's."""

from __future__ import annotations

import pytest

from oncelog.broker.metadata.features import HIGHEST, FeatureRefusal, FeatureUpdate, updated

GROUP, TRANSACTION = "group.version", "transaction.version"
UPGRADE, SAFE, UNSAFE = 1, 2, 3
BOTH = {GROUP: 1, TRANSACTION: 2}
NO_SUCH_TYPE = "The controller does not support the given upgrade type."
NEGATIVE = "A feature version cannot be less than 0."
NOT_A_DOWNGRADE = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
)


def update(levels: dict[str, int], feature: str, level: int, how: int) -> dict[str, int] | str:
    """The levels after it, or the reason without the words that all reasons begin with."""
    result = updated(levels, {feature: FeatureUpdate(level, how)}, 1)
    if isinstance(result, FeatureRefusal):
        start = "The update failed for all features since the following feature had an error: "
        start += f"Invalid update version {level} for feature {feature}. "
        assert result.message.startswith(start)
        return result.message.removeprefix(start)
    return result


def test_a_new_cluster_has_the_highest_feature_levels() -> None:
    assert (HIGHEST.epoch, HIGHEST.levels) == (0, {**BOTH, "share.version": 2})
    assert HIGHEST.level("streams.version") == 0


@pytest.mark.parametrize("how", [SAFE, UNSAFE])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_feature_downgrade_sets_the_level_or_is_refused_depending_on_its_type(level: int, how: int) -> None:
    assert update(BOTH, TRANSACTION, level, how) == {GROUP: 1, TRANSACTION: level}


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_feature_upgrade_sets_the_level(level: int) -> None:
    assert update({GROUP: 0, TRANSACTION: 0}, TRANSACTION, level, UPGRADE) == {GROUP: 0, TRANSACTION: level}


@pytest.mark.parametrize(
    ("feature", "level", "how", "reason"),
    [
        (TRANSACTION, 1, UPGRADE, NOT_A_DOWNGRADE),
        (GROUP, 0, UPGRADE, NOT_A_DOWNGRADE),
        (TRANSACTION, 3, UPGRADE, "Local controller 1 only supports versions 0-2"),
        (TRANSACTION, 3, UNSAFE, "Local controller 1 only supports versions 0-2"),
        (GROUP, 32767, SAFE, "Local controller 1 only supports versions 0-1"),
        (TRANSACTION, -1, UNSAFE, NEGATIVE),
        ("nope", -1, UPGRADE, NEGATIVE),
        ("nope", 0, SAFE, "Feature nope not found."),
        ("nope", 1, UPGRADE, "Local controller 1 does not support this feature."),
        (TRANSACTION, 2, 0, NO_SUCH_TYPE),
        (TRANSACTION, 2, 4, NO_SUCH_TYPE),
        ("nope", -1, -1, NO_SUCH_TYPE),
    ],
)
def test_an_impossible_feature_update_is_refused(feature: str, level: int, how: int, reason: str) -> None:
    assert update(BOTH, feature, level, how) == reason


@pytest.mark.parametrize("how", [SAFE, UNSAFE])
def test_a_downgrade_does_not_raise_a_feature_level(how: int) -> None:
    assert update({TRANSACTION: 1}, TRANSACTION, 2, how) == "Can't downgrade to a newer version."
    assert update({}, GROUP, 1, how) == "Can't downgrade to a newer version."


def test_one_refused_feature_refuses_the_whole_update() -> None:
    updates = {"nope": FeatureUpdate(1), TRANSACTION: FeatureUpdate(1, SAFE), GROUP: FeatureUpdate(0, SAFE)}
    result = updated(BOTH, updates, 7)
    assert isinstance(result, FeatureRefusal)
    assert result.message.endswith("for feature nope. Local controller 7 does not support this feature.")
    del updates["nope"]
    assert updated(BOTH, updates, 7) == {GROUP: 0, TRANSACTION: 1}
    assert BOTH == {GROUP: 1, TRANSACTION: 2}
