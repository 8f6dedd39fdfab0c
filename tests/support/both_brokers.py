"""On which brokers a test runs: the fixture ``broker`` alone gives both, each time."""

from __future__ import annotations

import pytest

OURS_AND_KAFKA = ("oncelog", pytest.param("kafka", marks=pytest.mark.kafka))
OURS_AND_KAFKA_IN_SOAK = ("oncelog", pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.soak]))
KAFKA_IN_SOAK = pytest.mark.parametrize("broker", OURS_AND_KAFKA_IN_SOAK, indirect=True)
"""On ours in ``make test-all``, on Apache Kafka in ``make soak``.

For tests that cost seconds each, such as those with a driver of Spark, if another test that always runs on both brokers
asks the same of the cluster: one write, one restart, one kill for each path.
"""
EACH_BROKER = pytest.mark.parametrize("broker", OURS_AND_KAFKA, indirect=True)
"""On both each time, in a folder whose tests run on ours alone."""
