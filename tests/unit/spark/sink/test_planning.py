"""What a micro-batch asks the cluster before its rows are computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.spark.kafka.interface import ClusterFacts
from oncelog.spark.options import parse_sink_options
from oncelog.spark.sink import planning
from oncelog.spark.sink.planning import begin_micro_batch


class Asked:
    """A cluster that says how long it keeps offsets, and counts how often it was asked."""

    tells_retention: bool | None = None
    times = 0

    def facts(self, group: str) -> ClusterFacts:
        self.times += 1
        self.tells_retention = True
        return ClusterFacts("id", 3_600_000)


def test_the_offsets_retention_of_a_cluster_is_requested_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "metadata").write_text('{"id":"q"}')
    cluster = Asked()
    monkeypatch.setattr(planning, "cluster_for", lambda options: cluster)
    given = {
        "kafka.bootstrap.servers": "nowhere:1",
        "topic": "t",
        "checkpointLocation": str(tmp_path),
    }
    options = parse_sink_options(given, streaming=True)
    for _ in range(3):
        begin_micro_batch(options)
    assert cluster.times == 1
