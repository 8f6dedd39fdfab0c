"""What a run of pipelines says about itself."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from oncelog.broker.metrics.endpoint import Endpoint
from oncelog.spark.executors import Written
from oncelog.spark.pipeline.series import FAMILIES, PIPELINE, PipelineSource
from oncelog.spark.progress import Progress
from tests.integration.metrics.pages import health, scrape

NOW_S = 1000.0


@pytest.fixture
def source() -> PipelineSource:
    clock = iter([NOW_S, NOW_S + 5.0, NOW_S + 7.5, NOW_S + 7.5])
    return PipelineSource(["late", "idle"], lambda: next(clock))


@pytest.fixture
def address(source: PipelineSource) -> Iterator[str]:
    endpoint = Endpoint(socket.create_server(("127.0.0.1", 0)), source)
    endpoint.start()
    yield "{}:{}".format(*endpoint.address)
    endpoint.stop()


def progress(batch: int, rows: int) -> Progress:
    return Progress("late", "id", batch, rows, 12.5, 30, 2000, "", 7, 1, {})


def test_batches_are_counted_by_outcome(source: PipelineSource, address: str) -> None:
    assert health(address, "ready") == (503, {"status": "starting"})
    source.running()
    source.written("late", Written(4, "none", 0, 0, 0, 0.1, replayed=True))
    source.progress(progress(4, 100))
    source.written("late", Written(5, "driver", 1, 50, 4000, 0.5))
    source.progress(progress(5, 50))
    page = scrape(address)
    late = {"pipeline": "late"}
    name = "oncelog_pipeline_batches_total"
    assert [page.value(name, outcome=one, **late) for one in ("driver", "executors", "skipped")] == [1, 0, 1]
    replayed = "oncelog_pipeline_batches_replayed_total"
    assert [page.value(replayed, outcome=one, **late) for one in ("driver", "executors", "skipped")] == [0, 0, 1]
    assert page.value("oncelog_pipeline_rows_read_total", **late) == 150
    assert page.value("oncelog_pipeline_rows_written_total", **late) == 50
    assert page.value("oncelog_pipeline_bytes_written_total", **late) == 4000
    assert page.value("oncelog_pipeline_late_rows_total", **late) == 2
    assert page.value("oncelog_pipeline_commit_seconds_sum", **late) == 0.5
    assert page.value("oncelog_pipeline_marker_age_seconds", **late) == 2.5
    assert page.value("oncelog_pipeline_batch", **late) == 5
    assert page.value("oncelog_pipeline_lag_offsets", **late) == 30
    assert page.value("oncelog_pipeline_batches_total", pipeline="idle", outcome="driver") == 0
    ours = {family for family, known in FAMILIES.items() if known.origin == PIPELINE}
    assert {one.removesuffix("_total") for one in ours} <= {one.removesuffix("_total") for one in page.families}


def test_lag_that_spark_does_not_report_has_no_series(source: PipelineSource, address: str) -> None:
    source.progress(replace(progress(4, 100), lag=None))
    page = scrape(address)
    assert page.values("oncelog_pipeline_lag_offsets") == []
    assert page.value("oncelog_pipeline_batch", pipeline="late") == 4


def test_a_run_is_ready_while_its_queries_run(source: PipelineSource, address: str) -> None:
    source.running()
    assert health(address, "ready") == (200, {"status": "running"})
    source.ended()
    assert health(address, "ready") == (503, {"status": "ended"})
    assert health(address, "live")[0] == 200
    assert scrape(address, as_open_metrics=True).value("oncelog_pipeline_running", pipeline="late") == 0
