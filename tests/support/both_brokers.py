"""On which brokers a test runs: the fixture ``broker`` alone gives both, each time."""

from __future__ import annotations

import pytest

KAFKA_IN_SOAK = pytest.mark.parametrize(
    "broker", ["oncelog", pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.soak])], indirect=True
)
"""On ours in ``make test``, on Apache Kafka in ``make soak``.

For tests with a driver of Spark, which cost seconds each, if another test that always runs on both brokers asks the
same of the cluster: one write, one restart, one kill for each path.
"""
