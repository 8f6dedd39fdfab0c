"""What is expected of topics whose settings nobody tells."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.topic_settings import expected_of
from oncelog.client.aio.admin.admin import Admin
from oncelog.errors import Error, KafkaError


class Refusing(Admin):
    def __init__(self) -> None:
        pass

    async def describe_configs(self, *given: Any, **more: Any) -> Any:
        raise KafkaError(Error.TOPIC_AUTHORIZATION_FAILED, "no")


def test_gaps_are_no_finding_if_the_topic_settings_are_not_readable() -> None:
    report = Report()
    topics: Any = [SimpleNamespace(name="t")]
    found = asyncio.run(expected_of(Refusing(), topics, False, report))
    assert found["t"].compacted
    assert report.counts == {"not-permitted": 1}
