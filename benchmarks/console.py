"""Measures the console's first view of a cluster with 1,000 topics, in a browser that has seen the console before.

    python -m benchmarks.console [--loads N]

The browser is a headless Chromium. "document" is the time in ms from the request to the last byte of the page, "drawn"
the time to the first contentful paint. "empty" loads an image of three rectangles from the same console: the least time
that this browser needs for any page. Loads of the view and of the image take turns in one open tab. "script", "layout"
and "style" are the browser's own durations of one load.
"""

from __future__ import annotations

import argparse
import shutil
from statistics import median

from playwright.sync_api import CDPSession, Page, sync_playwright
from rich.console import Console as Terminal
from rich.table import Table

import oncelog
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from tests.support.running_console import BROWSERS, RunningConsole

TOPICS = 1000
TIMES = """() => {
  const page = performance.getEntriesByType("navigation")[0];
  const drawn = performance.getEntriesByName("first-contentful-paint")[0];
  return [page.responseEnd - page.requestStart, drawn ? drawn.startTime - page.startTime : NaN];
}"""
DRAWN = "() => performance.getEntriesByName('first-contentful-paint').length > 0"
DURATIONS = {"script": "ScriptDuration", "layout": "LayoutDuration", "style": "RecalcStyleDuration"}


def load(page: Page, session: CDPSession, address: str) -> dict[str, float]:
    page.goto("about:blank")
    before = durations(session)
    page.goto(address)
    page.wait_for_function(DRAWN)
    document, drawn = page.evaluate(TIMES)
    after = durations(session)
    return {"document": document, "drawn": drawn} | {name: after[name] - before.get(name, 0.0) for name in after}


def durations(session: CDPSession) -> dict[str, float]:
    """The CPU time that the tab's process has used so far."""
    reported = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return {name: reported[key] * 1000 for name, key in DURATIONS.items()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--loads", type=int, default=15)
    loads = options.parse_args().loads
    program = next(found for name in BROWSERS if (found := shutil.which(name)))
    seen: dict[str, list[dict[str, float]]] = {"topics": [], "empty": []}
    with oncelog.Broker() as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic(f"topic-{number:04}", 1) for number in range(TOPICS)])
        with (
            RunningConsole({"bootstrap.servers": broker.bootstrap_servers}) as console,
            sync_playwright() as playwright,
        ):
            pages = {"topics": f"{console.url}/topics", "empty": f"{console.url}/static/icon.svg"}
            with playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"]) as browser:
                page = browser.new_page(locale="en-US")
                session = page.context.new_cdp_session(page)
                session.send("Performance.enable")
                for address in pages.values():
                    load(page, session, address)
                for _ in range(loads):
                    for name, address in pages.items():
                        seen[name].append(load(page, session, address))
    table = Table(title=f"First view of {TOPICS:,} topics, ms, median of {loads} (least to most)")
    for heading in ("page", *seen["topics"][0]):
        table.add_column(heading)
    for name, times in seen.items():
        cells = [sorted(one[key] for one in times) for key in times[0]]
        table.add_row(name, *(f"{median(cell):.0f} ({cell[0]:.0f} to {cell[-1]:.0f})" for cell in cells))
    Terminal().print(table)


if __name__ == "__main__":
    main()
