"""What the tests of programs in other frameworks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog.apps.proxy.proxy import FaultProxy
from tests.conftest import RunningBroker


@pytest.fixture
def proxy(broker: RunningBroker) -> Iterator[FaultProxy]:
    """Stands in front of either broker, to stop a program at a request."""
    with FaultProxy(broker.bootstrap_servers) as running:
        yield running
