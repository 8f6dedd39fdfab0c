"""Features that the consumers lack are refused when requested, not silently missing."""

from __future__ import annotations

import pytest

import oncelog
from oncelog.client import aio
from oncelog.errors import ConfigError


def test_consumer_timeout_ms_is_refused_and_an_alternative_suggested() -> None:
    """kafka-python's setting; a loop that relies on it would never end."""
    with pytest.raises(ConfigError, match=r"consumer_timeout_ms is not supported.* getone\(timeout_ms=\.\.\.\)"):
        oncelog.Consumer("t", bootstrap_servers="127.0.0.1:1", consumer_timeout_ms=1000)
    with pytest.raises(ConfigError, match=r"consumer_timeout_ms is not supported.* getmany\(timeout_ms=\.\.\.\)"):
        aio.Consumer("t", bootstrap_servers="127.0.0.1:1", consumer_timeout_ms=1000)
