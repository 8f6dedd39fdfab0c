"""On which databases a test runs: the fixture ``database`` alone gives both, each time."""

from __future__ import annotations

import pytest

SQLITE_IN_SOAK = pytest.mark.parametrize(
    "database", ["postgres", pytest.param("sqlite", marks=pytest.mark.soak)], indirect=True
)
"""On PostgreSQL in ``make test``, on SQLite too in ``make soak``: for tests that kill some hundred processes."""
