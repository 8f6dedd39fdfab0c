"""The startup properties read again while the broker runs: what changes at once, what waits, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog.broker.core.administration.config_changes import reread
from oncelog.errors import ConfigError
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.types import TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin

GIVEN = {"oncelog.flush.policy": "none", "log.retention.ms": "1000"}
BROKER, SET = 4, 0


@pytest.fixture
def admin() -> Iterator[Admin]:
    made = Admin(**GIVEN)
    made.broker.topics.create("t", 1, {}, NOW_MS)
    yield made
    made.broker.stop(NOW_MS)


def retention(admin: Admin) -> int:
    return admin.broker.partitions()[TopicPartition("t", 0)].log.config.retention_ms


def test_dynamic_settings_reach_the_logs_and_others_wait_for_a_restart(admin: Admin) -> None:
    given = {**GIVEN, "log.retention.ms": "7", "num.partitions": "3", "no.such.setting": "x"}
    changed, waiting = reread(admin.broker, given)
    assert changed == ["log.retention.ms"]
    assert waiting == ["no.such.setting", "num.partitions"]
    assert retention(admin) == 7
    assert reread(admin.broker, given) == ([], ["no.such.setting", "num.partitions"])


def test_a_setting_that_was_removed_from_the_file_returns_to_its_default(admin: Admin) -> None:
    assert reread(admin.broker, {"oncelog.flush.policy": "none"}) == (["log.retention.ms"], [])
    assert retention(admin) == 7 * 24 * 3_600_000


def test_settings_that_a_client_altered_take_precedence_over_the_file(admin: Admin) -> None:
    resource = AlterConfigsResource(BROKER, "", [AlterableConfig("log.retention.ms", SET, "5")])
    admin.ask(IncrementalAlterConfigsRequest([resource]), 1)
    assert retention(admin) == 5
    assert reread(admin.broker, {**GIVEN, "log.retention.ms": "7"}) == (["log.retention.ms"], [])
    assert retention(admin) == 5


def test_a_value_that_is_not_allowed_changes_no_setting(admin: Admin) -> None:
    with pytest.raises(ConfigError):
        reread(admin.broker, {**GIVEN, "log.retention.ms": "soon", "message.max.bytes": "5000"})
    assert retention(admin) == 1000
    assert reread(admin.broker, GIVEN) == ([], [])


def test_a_reload_with_listeners_that_cannot_be_changed_changes_no_setting() -> None:
    several = Admin(nodes=(1, 2), **GIVEN)
    with pytest.raises(ConfigError, match="listeners cannot be changed while several nodes run in one process"):
        reread(several.broker, {**GIVEN, "listeners": "PLAINTEXT://127.0.0.1:1", "log.retention.ms": "7"})
    assert several.broker.config.static["log.retention.ms"] == "1000"
    several.broker.stop(NOW_MS)
