"""The console in a real browser: one Chromium for all of these tests, and one console for each cluster."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from tests.conftest import RunningBroker
from tests.support.running_console import BROWSERS, RunningConsole

OPTIONS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync"]  # fmt: skip
VIEWPORT: ViewportSize = {"width": 1280, "height": 900}
SECONDS = 90
PATIENT = {"default.api.timeout.ms": "90000", "request.timeout.ms": "90000"}
"""Generous, because a busy machine is no defect."""
expect.set_options(timeout=SECONDS * 1000)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """This machine's Chromium.

    It is closed after these tests, because its driver keeps an event loop in this thread.
    """
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser here: none of {', '.join(BROWSERS)} is on the PATH (make setup installs Chromium)")
    with sync_playwright() as playwright:
        options = [*OPTIONS, "--no-sandbox"] if os.geteuid() == 0 else OPTIONS
        with playwright.chromium.launch(executable_path=path, args=options) as chromium:
            yield chromium


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh browser context in a time zone that is not UTC."""
    with browser.new_context(locale="en-US", timezone_id="Asia/Kathmandu", viewport=VIEWPORT) as visitor:
        visitor.set_default_timeout(SECONDS * 1000)
        yield visitor


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that runs no script except the console's, and in which no script fails."""
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "console",
        lambda printed: complaints.append(printed.text) if "Content Security Policy" in printed.text else None,
    )
    yield opened
    assert complaints == []


@pytest.fixture(scope="package")
def oncelog_console(oncelog_broker: RunningBroker) -> Iterator[RunningConsole]:
    with RunningConsole({"bootstrap.servers": oncelog_broker.bootstrap_servers, **PATIENT}) as console:
        yield console


@pytest.fixture(scope="package")
def kafka_console(apache_kafka: RunningBroker) -> Iterator[RunningConsole]:
    with RunningConsole({"bootstrap.servers": apache_kafka.bootstrap_servers, **PATIENT}) as console:
        yield console


@pytest.fixture
def console(request: pytest.FixtureRequest, broker: RunningBroker) -> RunningConsole:
    """The console of the broker that the test runs on."""
    kind = request.node.callspec.params["broker"]
    chosen: RunningConsole = request.getfixturevalue(f"{kind}_console")
    return chosen
