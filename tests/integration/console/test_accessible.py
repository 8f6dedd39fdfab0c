"""Every page by keyboard alone, and as a screen reader presents it: names, roles, landmarks, headings, contrast."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.console.test_pipelines import PROGRESS, report
from tests.support.running_console import RunningConsole

TOPIC = "seen-by-all"
ID = "writer-of-all"
PAGES = {
    "topics": "/topics",
    "topic": f"/topic?name={TOPIC}",
    "records": f"/records?topic={TOPIC}",
    "record": f"/record?topic={TOPIC}&partition=0&offset=0",
    "chart": f"/partition?topic={TOPIC}&partition=0",
    "choose a partition": "/partition",
    "transactions": "/transactions",
    "transaction": f"/transaction?id={ID}",
    "end a transaction": f"/transaction/end?id={ID}",
    "hanging": "/transactions/hanging",
    "producers": f"/producers?topic={TOPIC}&partition=0",
    "groups": f"/groups?q={TOPIC}",
    "group": f"/group?name={TOPIC}",
    "reset": f"/group/reset?name={TOPIC}",
    "pipelines": "/pipelines",
    "brokers": "/brokers",
    "broker": "/broker?id=1",
    "acls": "/acls",
    "new topic": "/topic/create",
    "delete a topic": f"/topic/delete?name={TOPIC}",
    "redrive": f"/redrive?topic={TOPIC}",
    "what is not there": "/topic?name=no-such-topic",
}
NAMED = {"link", "button", "textbox", "searchbox", "combobox", "checkbox", "radio", "spinbutton", "image", "table",
         "navigation", "progressbar", "meter"}  # fmt: skip
"""Roles that mean nothing to a blind user unless they have a name."""
FOCUSABLE = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
SEEN = f"""() => [...document.querySelectorAll("{FOCUSABLE}")].filter((one) =>
    one.checkVisibility({{ visibilityProperty: true }}) && !one.disabled)"""
NOTE = f"""() => {{
  window.reached = [];
  document.addEventListener("focusin", (event) => {{
    const style = getComputedStyle(event.target);
    const shown = style.outlineStyle !== "none" || style.boxShadow !== "none";
    window.reached.push([({SEEN})().indexOf(event.target), shown, event.target.outerHTML.slice(0, 200)]);
  }});
}}"""
MAX_TABS = 30
"""Per page; longer tables only repeat rows of the same kind."""
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
FROM_THE_TOP = """() => {
  document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute("tabindex");
}"""
FOUND_WRONG = (Path(__file__).parent / "found_wrong.js").read_text()


@pytest.fixture(scope="module")
def filled(oncelog_console: RunningConsole, oncelog_broker: RunningBroker) -> Iterator[RunningConsole]:
    """A console with a topic whose records have every possible outcome, one open transaction among them, a
    group, and a query with its chart."""
    servers = oncelog_broker.bootstrap_servers
    reported = replace(PROGRESS, pipeline=TOPIC, query_id=TOPIC)
    report(oncelog_console, replace(reported, batch=6), reported)
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 1)])
        admin.alter_consumer_group_offsets(TOPIC, {TopicPartition(TOPIC, 0): 1})
        with Producer(bootstrap_servers=servers, transactional_id=ID, transaction_timeout_ms=800_000) as producer:
            for end in ("commit", "abort", ""):
                producer.begin_transaction()
                producer.send_and_wait(TOPIC, b'{"n": 1}', key=b"k", headers=[("h", b"v")])
                if end:
                    getattr(producer, f"{end}_transaction")()
            yield oncelog_console  # leaving the producer aborts what is open
        admin.delete_topics([TOPIC])


def tree(context: BrowserContext, page: Page) -> list[dict[str, Any]]:
    """What a screen reader receives."""
    session = context.new_cdp_session(page)
    nodes: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        {"role": node["role"]["value"], "name": node.get("name", {}).get("value", "").strip()}
        for node in nodes
        if not node["ignored"] and "role" in node
    ]


def visit(page: Page, address: str) -> None:
    """Open a page and wait for the parts that it loads afterwards."""
    page.goto(address)
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("[hx-trigger=load]")).to_have_count(0)


def test_every_page_has_names_roles_landmarks_and_contrast(
    page: Page, context: BrowserContext, filled: RunningConsole
) -> None:
    page.emulate_media(reduced_motion="reduce")
    wrong: dict[str, list[str]] = {}
    for name, path in PAGES.items():
        visit(page, filled.url + path)
        nodes = tree(context, page)
        found = [f"a {node['role']} has no name" for node in nodes if node["role"] in NAMED and not node["name"]]
        roles = {node["role"] for node in nodes}
        found += [f"no {role}" for role in ("main", "banner", "navigation", "heading") if role not in roles]
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            found += [f"{scheme}: {text}" for text in page.evaluate(FOUND_WRONG)]
        if found:
            wrong[name] = found
    assert wrong == {}


def test_tab_reaches_everything_in_order_and_the_focus_is_visible(page: Page, filled: RunningConsole) -> None:
    for name, path in PAGES.items():
        visit(page, filled.url + path)
        pause = page.locator("#pause")
        if pause.is_visible():
            pause.click()  # what is replaced meanwhile has no order
            page.evaluate("document.activeElement.blur()")
            page.goto(f"{page.url}#")
        count = page.evaluate(f"({SEEN})().length")
        page.evaluate(
            "() => { document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex'); }"
        )
        page.evaluate(NOTE)
        tabs = min(count, MAX_TABS)
        for _ in range(tabs):
            page.keyboard.press("Tab")
        reached: list[tuple[int, bool, str]] = page.evaluate("window.reached")
        assert [at for at, _, _ in reached] == list(range(tabs)), (name, [html for _, _, html in reached])
        assert [html for _, shown, html in reached if not shown] == [], f"{name}: the focus is not seen"


def test_the_first_tab_skips_to_the_content(page: Page, filled: RunningConsole) -> None:
    page.goto(filled.url + PAGES["topics"])
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def press_until(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(200):
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is never reached")


def test_a_topic_is_created_browsed_tailed_and_deleted_without_a_mouse(
    page: Page, filled: RunningConsole, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    page.goto(f"{filled.url}/topics")
    press_until(page, "a[href='/topic/create']")
    page.keyboard.press("Enter")
    expect(page.locator("input[name=name]")).to_be_visible()
    press_until(page, "input[name=name]")
    page.keyboard.type(unique_name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=unique_name)).to_be_visible()
    page.goto(f"{filled.url}/records?{urlencode({'topic': unique_name})}")
    press_until(page, "#tail")
    page.keyboard.press("Space")
    expect(page.locator("#tail-state")).to_have_text("Live: waiting for records.")
    with Producer(bootstrap_servers=oncelog_broker.bootstrap_servers) as producer:
        producer.send_and_wait(unique_name, b"typed")
    expect(page.locator("#rows")).to_contain_text("typed")
    page.keyboard.press("Space")
    expect(page.locator("#tail-state")).to_have_text("The live tail was stopped.")
    page.goto(f"{filled.url}/topic/delete?{urlencode({'name': unique_name})}")
    press_until(page, "input[name=again]")
    page.keyboard.type(unique_name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    expect(page.locator("#live")).not_to_contain_text(unique_name)
