"""A transaction that no coordinator knows: the page finds it, and a user who was told the consequences can end it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

import oncelog
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from tests.support.hanging import SETTINGS, leave_hanging
from tests.support.running_console import RunningConsole


@pytest.fixture(scope="module")
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(settings=SETTINGS) as without_verification:
        yield without_verification


@pytest.fixture
def topic(broker: oncelog.Broker, unique_name: str) -> str:
    """Two records of a hanging transaction, and a later one that waits for it."""
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1)])
    leave_hanging(broker.bootstrap_servers, unique_name, b"lost", b"too")
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait(unique_name, b"waits")
    return unique_name


def test_a_hanging_transaction_is_found_and_ended_and_readers_continue(
    page: Page, broker: oncelog.Broker, topic: str
) -> None:
    with RunningConsole({"bootstrap.servers": broker.bootstrap_servers}) as console:
        page.goto(f"{console.url}/transactions")
        row = page.locator("#hanging tbody tr", has_text=topic)
        expect(row).to_contain_text("3")  # held back
        row.get_by_role("link", name="End it…").click()
        expect(page.get_by_role("heading", name=f"End the hanging transaction in {topic}-0?")).to_be_visible()
        expect(page.locator(".note.warn")).to_contain_text("from offset 0 on are aborted")
        expect(page.locator(".note.warn")).to_contain_text("3 offsets are waiting behind it")
        page.get_by_role("button", name="Write the abort marker").click()
        expect(page.get_by_role("status").filter(has_text="is aborted")).to_be_visible()
        expect(page.locator("#live svg[role=img] rect.aborted")).to_have_count(1)
        page.go_back()
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("it has ended, or its coordinator knows it")
    with Consumer(
        topic,
        bootstrap_servers=broker.bootstrap_servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as consumer:
        assert next(iter(consumer)).value == b"waits"


def test_a_read_only_console_shows_a_hanging_transaction_and_ends_nothing(
    page: Page, broker: oncelog.Broker, topic: str
) -> None:
    with RunningConsole({"bootstrap.servers": broker.bootstrap_servers}, allow_changes=False) as console:
        page.goto(f"{console.url}/transactions/hanging")
        row = page.locator("#hanging tbody tr", has_text=topic)
        expect(row).to_be_visible()
        expect(row.get_by_role("link", name="End it…")).to_have_count(0)
        page.goto(f"{console.url}/transaction/end?topic={topic}&partition=0&start=0")
        expect(page.locator("main")).to_contain_text("This console is read-only")
        expect(page.get_by_role("button", name="Write the abort marker")).to_have_count(0)
