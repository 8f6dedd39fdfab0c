"""What a broker in memory says for its users, who write tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import oncelog
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType

DELAY = "group.initial.rebalance.delay.ms"


@pytest.mark.parametrize(
    ("folder", "settings", "delay"),
    [(False, {}, "0"), (False, {DELAY: 500}, "500"), (True, {}, "3000"), (True, {DELAY: 0}, "0")],
    ids=["in memory", "in memory, told", "in a folder", "in a folder, told"],
)
def test_only_a_broker_in_memory_has_no_initial_rebalance_delay(
    folder: bool, settings: dict[str, object], delay: str, tmp_path: Path
) -> None:
    broker_1 = ConfigResource(ConfigResourceType.BROKER, "1")
    with (
        oncelog.Broker(tmp_path if folder else None, settings=settings) as broker,
        oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
    ):
        found = admin.describe_configs([broker_1], names=[DELAY])
    assert found[broker_1][DELAY].value == delay
