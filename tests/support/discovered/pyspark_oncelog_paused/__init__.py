"""Found by Spark if ``tests/support/discovered`` is on the Python path: ``format("oncelog_paused")`` without a call."""

from tests.support.pausing_source import PausingDataSource as DefaultSource

__all__ = ["DefaultSource"]
