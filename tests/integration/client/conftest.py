"""What the tests of the client share."""

from __future__ import annotations

import pytest

from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from tests.conftest import RunningBroker


@pytest.fixture
def topic(broker: RunningBroker, unique_name: str) -> str:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 2, 1)])
    return unique_name
