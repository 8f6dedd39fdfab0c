"""Spark queries on the page of pipelines: what sessions report, beside the markers in the cluster."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.spark.progress import Progress
from oncelog.spark.reporting import ConsoleReporter
from oncelog.spark.sink.marker import Marker
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.support.running_console import TOKEN, RunningConsole

PROGRESS = Progress(
    pipeline="", query_id="", batch=7, rows=1000, rows_per_second=512.5, lag=3000, duration_ms=1951,
    watermark="2026-01-01T00:00:00.000Z", state_rows=42, late_rows=1, reached={}, path="executors",
)  # fmt: skip


def report(console: RunningConsole, *reported: Progress, state: tuple[str, str] | None = None) -> None:
    reporter = ConsoleReporter(console.url, TOKEN)
    for progress in reported:
        reporter.progress(progress)
    if state is not None:
        reporter.state(reported[-1].pipeline, *state)
    reporter.close()


def test_a_query_shows_its_batches_progress_bar_and_marker(
    page: Page, oncelog_console: RunningConsole, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    query = f"query-{unique_name}"
    with Admin(bootstrap_servers=oncelog_broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1)])
        marker = Marker(query, 8, 500, "abc", 1_767_225_600_000, "[]").encode()
        where = TopicPartition(unique_name, 0)
        admin.alter_consumer_group_offsets(f"oncelog-marker-{unique_name}", {where: OffsetAndMetadata(0, marker)})
    reported = replace(PROGRESS, pipeline=unique_name, query_id=query)
    report(oncelog_console, replace(reported, batch=6, path="none", rows=0), reported)
    page.goto(f"{oncelog_console.url}/pipelines")
    card = page.locator("section.card", has_text=unique_name)
    expect(card).to_contain_text("512.5 rows/s")
    expect(card).to_contain_text("3\u202f000 left to read")
    expect(card).to_contain_text("written by the executors")
    expect(card).to_contain_text("1 batches already written before")
    expect(card).to_contain_text("42 rows, 1 late rows dropped")
    expect(card).to_contain_text("batch 8, ahead of batch 7")
    expect(card.locator("progress")).to_have_attribute("value", "0.25")
    expect(card.locator("canvas")).to_be_visible()
    report(oncelog_console, replace(reported, batch=8, lag=0))
    expect(card).to_contain_text("batch 8, in step with the checkpoint")
    expect(card.locator("canvas")).to_be_visible()  # the part around it was updated, the chart stayed
    report(oncelog_console, replace(reported, batch=9, lag=None))
    expect(card).to_contain_text("the last batch does not say how many are left")
    expect(card.locator("progress")).to_have_count(0)
    report(oncelog_console, replace(reported, batch=10), state=("failed", "<b>it broke</b>"))
    expect(card).to_contain_text("<b>it broke</b>")


def test_a_missing_console_does_not_stop_a_query(caplog: pytest.LogCaptureFixture) -> None:
    reporter = ConsoleReporter("http://127.0.0.1:9", TOKEN)
    for number in range(500):
        reporter.progress(replace(PROGRESS, pipeline="p", batch=number))
    reporter.close()
    assert len([one for one in caplog.records if "does not accept reports" in one.message]) == 1


def test_excessive_values_of_reports_are_limited(oncelog_console: RunningConsole, page: Page) -> None:
    report(oncelog_console, replace(PROGRESS, pipeline="x" * 5000, rows=-5, rows_per_second=float("inf")))
    page.goto(f"{oncelog_console.url}/pipelines")
    card = page.locator("section.card", has_text="x" * 200)
    expect(card).to_be_visible()
    assert "x" * 201 not in page.content()
    expect(card).to_contain_text("7: 0 rows")
    assert json.loads(card.locator("[data-chart]").get_attribute("data-chart") or "")["series"][0]["values"] == [0.0]


def test_a_browser_whose_language_is_not_a_language_tag_shows_times_and_charts(
    browser: Browser, oncelog_console: RunningConsole, unique_name: str
) -> None:
    report(oncelog_console, *(replace(PROGRESS, pipeline=unique_name, batch=batch) for batch in (1, 2, 3)))
    complaints: list[str] = []
    with browser.new_context(locale="en-US@posix", timezone_id="Asia/Kathmandu") as visitor:
        page = visitor.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{oncelog_console.url}/pipelines")
        expect(page.locator(".uplot").first).to_be_visible()
        assert page.evaluate("navigator.language") == "en"
    assert complaints == []


def test_the_row_of_a_run_names_the_killed_run_that_it_follows_and_tables_without_a_marker(
    page: Page, oncelog_console: RunningConsole, unique_name: str
) -> None:
    reported = replace(
        PROGRESS, pipeline=unique_name, query_id=f"query-{unique_name}", sinks={"delta table lake/late": 5}
    )
    for session in ("killed:1", "next:2"):
        reporter = ConsoleReporter(oncelog_console.url, TOKEN)
        reporter._session = session
        reporter.progress(reported)
        reporter.close()
    page.goto(f"{oncelog_console.url}/pipelines")
    card = page.locator("section.card", has_text=unique_name)
    expect(card).to_have_count(1)
    expect(card).to_contain_text("It continues 1 earlier run; the last of them, killed:1, reported until")
    expect(card).to_contain_text("in its tables")
    expect(card).to_contain_text("delta table lake/late: batch 7")
    expect(card).not_to_contain_text("none in this cluster")


def test_the_group_of_a_marker_is_not_shown_as_a_reader(
    page: Page, oncelog_console: RunningConsole, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    group, where = f"oncelog-marker-{unique_name}", TopicPartition(unique_name, 0)
    with Admin(bootstrap_servers=oncelog_broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1)])
        marker = Marker(f"query-{unique_name}", 8, 500, "abc", 1_767_225_600_000, "[]").encode()
        admin.alter_consumer_group_offsets(group, {where: OffsetAndMetadata(0, marker)})
    holds = f"marker of a Spark sink: batch 8 of query-{unique_name}, 500 rows"
    page.goto(f"{oncelog_console.url}/groups?q={group}")
    expect(page.locator("tbody tr")).to_contain_text(holds, timeout=20_000)  # the page asks again
    for path in (f"topic/readers?name={unique_name}", f"partition?topic={unique_name}&partition=0"):
        page.goto(f"{oncelog_console.url}/{path}")
        expect(page.locator("body")).to_contain_text(f"Markers of Spark sinks, which are no readers: {group} (batch 8)")
    page.goto(f"{oncelog_console.url}/group?name={group}")
    expect(page.locator("dl.facts")).to_contain_text(f"{holds}, kept under {where}: no consumer, and nothing lags")
    expect(page.locator("dl.facts")).not_to_contain_text("to the last stable offset")
