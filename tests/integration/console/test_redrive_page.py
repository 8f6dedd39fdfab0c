"""Dead letters sent back from the console, on our broker and on Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from oncelog.apps.redrive.dead_letters import ATTEMPTS_HEADER
from tests.conftest import RunningBroker
from tests.integration.redrive.test_redrive import PARTITIONS, World
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.running_console import RunningConsole

pytestmark = KAFKA_IN_SOAK
T = TypeVar("T")


def apart(call: Callable[[], T]) -> T:
    """In another thread: Playwright's event loop runs in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call).result()


@pytest.fixture
def world(broker: RunningBroker, unique_name: str) -> World:
    made = World(broker, unique_name)
    apart(lambda: asyncio.run(made.fill(20)))
    return made


def shown(page: Page, console: RunningConsole, **query: object) -> None:
    page.goto(f"{console.url}/redrive?{urlencode(query)}")


def test_previewed_dead_letters_are_sent_back_once(page: Page, console: RunningConsole, world: World) -> None:
    page.goto(f"{console.url}/topic?{urlencode({'name': world.dead})}")
    page.get_by_role("link", name="Redrive…").click()
    expect(page.locator("table.dead-letters tbody tr")).to_have_count(20)
    expect(page.locator("table.dead-letters")).to_contain_text(f"{world.origin}-2")
    page.get_by_label("At most").fill("6")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("table.dead-letters tbody tr")).to_have_count(6)
    assert apart(lambda: asyncio.run(world.read(world.origin))) == []
    stale = page.context.new_page()
    stale.goto(page.url)
    page.get_by_role("button", name="Send back").click()
    expect(page.get_by_role("status").first).to_have_text("6 dead letters were sent back.")
    assert len(apart(lambda: world.values(world.origin))) == 6
    stale.get_by_role("button", name="Send back").click()
    expect(stale.locator("#page")).to_contain_text("has advanced: reload the page")
    assert len(apart(lambda: world.values(world.origin))) == 6
    shown(page, console, topic=world.dead)
    page.get_by_role("button", name="Send back").click()
    expect(page.get_by_role("status").first).to_have_text("14 dead letters were sent back.")
    found = apart(lambda: asyncio.run(world.read(world.origin)))
    assert sorted(int(one.value or b"") for one in found) == list(range(20))
    for one in found:
        number = int(one.value or b"")
        assert (one.key, one.partition) == (b"key", number % PARTITIONS)
        assert tuple(one.headers) == (("number", str(number).encode()), (ATTEMPTS_HEADER, b"1"))
    shown(page, console, topic=world.dead)
    expect(page.locator("table.dead-letters")).to_contain_text("No dead letters left for this name.")
    assert apart(world.redrive).done().err == "0 dead letters sent back\n"


def test_a_wrong_selection_of_dead_letters_is_reported(page: Page, console: RunningConsole, world: World) -> None:
    shown(page, console, topic=world.dead, error="odd", name="odd ones")
    expect(page.get_by_role("alert")).to_contain_text("a name has 1 to 100 of the characters")
    page.get_by_label("Name").fill("odd-ones")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("table.dead-letters tbody").get_by_text("sent", exact=True)).to_have_count(10)
    page.get_by_role("button", name="Send back").click()
    expect(page.get_by_role("status").first).to_have_text("10 dead letters were sent back, 10 passed over.")
    assert apart(lambda: world.values(world.origin)) == list(range(1, 20, 2))
    shown(page, console, topic=world.dead, name="odd-ones")
    expect(page.get_by_role("alert")).to_contain_text("with another --where or --error")
    for query, reported in (
        ({"to": world.dead}, "in their own topic"),
        ({"parking": world.parked}, "or neither"),
        ({"where": "number"}, "HEADER=VALUE"),
        ({"limit": "0"}, "from 1 to 5000"),
    ):
        shown(page, console, topic=world.dead, **query)
        expect(page.get_by_role("alert")).to_contain_text(reported)
