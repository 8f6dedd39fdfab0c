"""Make the screenshots of the console in ``docs/assets`` again: ``python -m tools.screenshots``.

The tool starts a broker and a console, fills them with the same events each time, and uses this machine's Chromium,
like the tests. Look at the images before you commit them.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, ViewportSize, sync_playwright

import oncelog
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.spark.progress import Progress
from oncelog.spark.reporting import ConsoleReporter
from oncelog.spark.sink.marker import Marker
from oncelog.types import TopicPartition
from tests.support.running_console import BROWSERS, TOKEN, RunningConsole

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
WIDTH, PHONE = 1180, 390
PAYMENTS = TopicPartition("payments", 0)


class Screenshot(NamedTuple):
    """One screenshot of a page. ``wait`` is the element to wait for; ``only`` is the element to capture, empty for the
    whole page."""

    name: str
    path: str
    wait: str
    height: int = 620
    dark: bool = False
    phone: bool = False
    only: str = ""


SCREENSHOTS = (
    Screenshot("topics", "/topics", "#live tbody tr"),
    Screenshot("topic", "/topic?name=payments", "table", 760),
    Screenshot("records-dark", "/records?topic=payments", "table.records tbody tr", dark=True),
    Screenshot("record", "/record?topic=payments&partition=0&offset=1", "pre", 760),
    Screenshot("partition", "/partition?topic=payments&partition=0", "#live svg[role=img]", only="#live"),
    Screenshot("transactions", "/transactions", "#hanging p", 700),
    Screenshot("transactions-phone", "/transactions", "#hanging p", 700, phone=True),
    Screenshot("history", "/transaction?id=billing-2", "ol.timeline li", 760),
    Screenshot("group", "/group?name=invoices", "table tbody tr", 420),
    Screenshot("pipelines", "/pipelines", "section.card canvas", 700),
    Screenshot("broker", "/broker?id=1", "table tbody tr"),
)


def fill(broker: oncelog.Broker) -> None:
    """Fill the broker with an example shop: payments of every outcome, a waiting group, a query with its marker."""
    servers = broker.bootstrap_servers
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(name, 1) for name in ("payments", "orders", "invoices-out", "late-flights")])
        with Producer(bootstrap_servers=servers) as producer:
            for n in range(40):
                producer.send("orders", json.dumps({"order": n, "item": f"item-{n % 7}"}).encode(), key=b"%d" % (n % 5))
        with Producer(bootstrap_servers=servers, transactional_id="billing-1") as first:
            for number, end in enumerate(("commit", "abort", "commit", "commit", "abort")):
                first.begin_transaction()
                for n in range(4 + number):
                    first.send("payments", _payment(number, n), key=b"customer-%d" % n, headers=[("by", b"billing")])
                first.flush()
                getattr(first, f"{end}_transaction")()
        admin.alter_consumer_group_offsets("invoices", {PAYMENTS: 12, TopicPartition("orders", 0): 40})
        admin.alter_consumer_group_offsets("audit", {PAYMENTS: 30})
        marker = Marker("4b1f", 41, 1200, "a1b2", int(time.time() * 1000), "[]").encode()
        admin.alter_consumer_group_offsets(
            "oncelog-marker-4b1f-late-flights", {TopicPartition("late-flights", 0): OffsetAndMetadata(41, marker)}
        )


def _payment(number: int, n: int) -> bytes:
    return json.dumps({"payment": 100 * number + n, "amount": 12.5 * (n + 1), "currency": "EUR"}).encode()


@contextmanager
def open_transaction(broker: oncelog.Broker) -> Iterator[None]:
    """Keep a transaction open during the block. An older producer of its transactional id was fenced, and a reader
    waits behind the transaction."""
    servers = broker.bootstrap_servers
    for _ in range(2):
        with Producer(bootstrap_servers=servers, transactional_id="billing-2") as before, before.transaction():
            before.send("payments", _payment(8, 0))
    with Producer(bootstrap_servers=servers, transactional_id="billing-2") as producer:
        producer.begin_transaction()
        for n in range(6):
            producer.send("payments", _payment(9, n))
        producer.flush()
        consumer = Consumer(
            "payments",
            bootstrap_servers=servers,
            group_id="reports",
            client_id="reports-1",
            auto_offset_reset="earliest",
        )
        with consumer as reader:
            next(iter(reader))  # the consumer gets the last stable offset with its first fetch
            stable = reader.last_stable_offset(PAYMENTS) or 0
            reader.commit({PAYMENTS: stable})
            reader.pause(PAYMENTS)
            reader.seek(PAYMENTS, stable)
            yield
        producer.abort_transaction()


def report(console: RunningConsole) -> None:
    """Two queries of a Spark session."""
    one = Progress("late-flights", "4b1f", 30, 1200, 640.0, 9000, 1900, "", 3200, 4, {}, "driver")
    reporter = ConsoleReporter(console.url, TOKEN)
    for n in range(12):
        rate = 600.0 + 60 * (n % 4)
        reporter.progress(replace(one, batch=30 + n, rows_per_second=rate, lag=9000 - 700 * n))
    reporter.close()


def take(browser: Browser, console: RunningConsole, screenshot: Screenshot) -> Path:
    size = ViewportSize(width=PHONE if screenshot.phone else WIDTH, height=screenshot.height)
    with browser.new_context(viewport=size, timezone_id="Europe/Berlin", locale="en-GB") as visitor:
        page = visitor.new_page()
        page.emulate_media(color_scheme="dark" if screenshot.dark else "light")
        page.goto(console.url + screenshot.path)
        page.locator(screenshot.wait).first.wait_for()
        path = ASSETS / f"console-{screenshot.name}.png"
        if screenshot.only:
            page.locator(screenshot.only).screenshot(path=path)
        else:
            page.screenshot(path=path)
    return path


def main() -> int:
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        sys.stderr.write(f"none of {', '.join(BROWSERS)} is on the PATH: make setup installs Chromium\n")
        return 1
    with oncelog.Broker() as broker:
        fill(broker)
        settings = {"bootstrap.servers": broker.bootstrap_servers}
        with open_transaction(broker), RunningConsole(settings) as console, sync_playwright() as playwright:
            report(console)
            with playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"]) as browser:
                for screenshot in SCREENSHOTS:
                    path = take(browser, console, screenshot)
                    print(f"{path.name}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
