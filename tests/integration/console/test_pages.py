"""Each page and each action, on our broker and on Apache Kafka."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import urlencode

import pytest
from confluent_kafka import AcknowledgeType
from playwright.sync_api import Locator, Page, expect

from oncelog.apps.conformance.expect import eventually
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, NewTopic
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.support.running_console import RunningConsole
from tests.support.share_groups import make_topic_and_group, polled, share_consumer

Open = Callable[..., Page]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as entered:
        yield entered


@pytest.fixture
def admin(broker: RunningBroker, stack: ExitStack) -> Admin:
    return stack.enter_context(Admin(bootstrap_servers=broker.bootstrap_servers))


@pytest.fixture
def topic(admin: Admin, unique_name: str) -> str:
    admin.create_topics([NewTopic(unique_name, 2, 1)])
    return unique_name


@pytest.fixture
def show(page: Page, console: RunningConsole) -> Open:
    def opened(path: str, /, **query: object) -> Page:
        page.goto(f"{console.url}{path}?{urlencode(query)}")
        return page

    return opened


@pytest.fixture
def producer(broker: RunningBroker, stack: ExitStack, unique_name: str) -> Producer:
    """A transactional producer with the id ``tx-`` and the test's name; what it leaves open is aborted after the
    test.
    """
    made = Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=f"tx-{unique_name}")
    return stack.enter_context(made)


def write(producer: Producer, topic: str, values: list[str], *, end: str | None, partition: int = 0) -> None:
    """One transaction of records, committed, aborted, or (None) left open."""
    producer.begin_transaction()
    for number, value in enumerate(values):
        producer.send_and_wait(topic, value.encode(), key=f"key-{number}".encode(), partition=partition)
    if end == "commit":
        producer.commit_transaction()
    elif end == "abort":
        producer.abort_transaction()


def rows(page: Page, of: str = "table.records") -> Locator:
    return page.locator(f"{of} tbody tr")


# --- topics


def test_topics_are_found_created_changed_and_deleted(show: Open, admin: Admin, unique_name: str) -> None:
    page = show("/topics")
    page.get_by_role("link", name="New topic").click()
    page.get_by_label("Name", exact=True).fill("no/such name")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Name", exact=True).fill(unique_name)
    page.get_by_label("Partitions").fill("3")
    page.get_by_label("Settings").fill("retention.ms=86400000")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("status").first).to_have_text(f"Topic {unique_name} was created.")
    expect(page.locator("#live")).to_contain_text("3 partitions")

    page.get_by_role("link", name="change retention.ms").click()
    page.get_by_label("New value").fill("not a number")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("New value").fill("123456789")
    page.get_by_role("button", name="Change", exact=True).click()
    resource = ConfigResource(ConfigResourceType.TOPIC, unique_name)
    assert admin.describe_configs([resource])[resource]["retention.ms"].value == "123456789"
    page.get_by_role("link", name="change retention.ms").click()
    page.get_by_role("button", name="Reset to default").click()
    expect(page.get_by_role("status").first).to_contain_text("was reset to its default")
    assert admin.describe_configs([resource])[resource]["retention.ms"].is_default

    page.get_by_role("link", name="Add partitions").click()
    page.get_by_label("Total number of partitions").fill("4")
    page.get_by_role("button", name="Add partitions").click()
    expect(page.locator("#live")).to_contain_text("4 partitions")

    found = show("/topics", q=unique_name)
    expect(found.locator("#live tbody tr")).to_have_count(1)
    found.locator("#live tbody").get_by_role("link", name=unique_name).click()
    page.get_by_role("link", name="Delete", exact=True).click()
    expect(page.get_by_text("deleted permanently")).to_be_visible()
    page.get_by_label("Type its name").fill("something else")
    page.get_by_role("button", name="Delete topic").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was deleted")
    assert unique_name in admin.list_topics()
    page = show("/topic/delete", name=unique_name)
    page.get_by_label("Type its name").fill(unique_name)
    page.get_by_role("button", name="Delete topic").click()
    expect(page.get_by_role("status").first).to_have_text(f"Topic {unique_name} was deleted.")
    assert unique_name not in admin.list_topics()


def test_brokers_and_their_settings_are_shown(show: Open) -> None:
    page = show("/brokers")
    expect(page.get_by_role("heading", name="Brokers")).to_be_visible()
    page.locator("#live tbody th a").first.click()
    page.get_by_label("Name contains").fill("log.retention")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr").first).to_contain_text("log.retention")
    for setting, value in (("broker.rack", ""), ("ssl.keystore.password", "secret")):  # neither has a value
        page.get_by_label("Name contains").fill(setting)
        page.get_by_role("button", name="Show").click()
        expect(page.locator("tbody tr").filter(has_text=setting).locator("td").first).to_have_text(value)


# --- records


def test_each_record_reports_the_outcome_of_its_transaction(
    show: Open, producer: Producer, topic: str, broker: RunningBroker
) -> None:
    write(producer, topic, ["yes"], end="commit")
    write(producer, topic, ["no"], end="abort")
    with Producer(bootstrap_servers=broker.bootstrap_servers) as plain:
        plain.send_and_wait(topic, b"plain", partition=0)
    write(producer, topic, ["perhaps"], end=None)
    page = show("/records", topic=topic, partition=0, **{"from": "oldest"})
    outcomes = rows(page).locator(".outcome")
    expect(outcomes).to_have_text(["committed", "aborted", "not transactional", "open"])
    expect(rows(page).nth(0)).to_contain_text(f"tx-{topic}")
    expect(rows(page).nth(2)).not_to_contain_text("tx-")
    page.get_by_label("control records").check()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(outcomes).to_have_text(
        ["committed", "commit marker", "aborted", "abort marker", "not transactional", "open"]
    )
    rows(page).nth(5).locator("a").first.click()
    expect(page.locator("dl")).to_contain_text("read_committed consumers wait at offset 5")
    expect(page.locator('pre[aria-label="Value"]')).to_have_text("perhaps")


def test_a_long_id_takes_one_line_and_is_copied_whole(
    show: Open, topic: str, broker: RunningBroker, stack: ExitStack
) -> None:
    name = f"flights-{'f48e-' * 12}{topic}"
    servers = broker.bootstrap_servers
    write(stack.enter_context(Producer(bootstrap_servers=servers, transactional_id=name)), topic, ["a"], end="commit")
    write(stack.enter_context(Producer(bootstrap_servers=servers, transactional_id="tx")), topic, ["b"], end="commit")
    page = show("/records", topic=topic, partition=0, **{"from": "oldest"})
    link = rows(page).nth(0).get_by_role("link", name=name)
    expect(link).to_have_attribute("title", name)
    heights = [rows(page).nth(number).bounding_box() for number in (0, 1)]
    assert heights[0] and heights[1] and heights[0]["height"] < 1.5 * heights[1]["height"]
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    rows(page).nth(0).get_by_role("button", name=f"Copy {name}").click()
    expect(rows(page).nth(0).get_by_role("button", name=f"Copy {name}")).to_have_class("copy copied")
    assert page.evaluate("navigator.clipboard.readText()") == name
    expect(rows(page).nth(1).get_by_role("button")).to_have_count(0)


def test_long_ids_and_groups_are_shortened_on_every_page(
    show: Open, topic: str, admin: Admin, broker: RunningBroker, stack: ExitStack
) -> None:
    name, group = f"flights-{'f48e-' * 12}{topic}", f"readers-{'f48e-' * 12}{topic}"
    left_open = stack.enter_context(Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=name))
    write(left_open, topic, ["a"], end=None)
    admin.alter_consumer_group_offsets(group, {TopicPartition(topic, 0): 0})
    for path, query, whole in (
        ("/records", {"topic": topic, "partition": 0}, name),
        ("/record", {"topic": topic, "partition": 0, "offset": 0}, name),
        ("/partition", {"topic": topic, "partition": 0}, name),
        ("/partition", {"topic": topic, "partition": 0}, group),
        ("/producers", {"topic": topic, "partition": 0}, name),
        ("/topic/readers", {"name": topic}, group),
        ("/groups", {"q": group}, group),
        ("/transactions", {"q": name}, name),
        ("/transactions", {"q": name}, group),
        ("/transaction", {"id": name}, group),
    ):
        page = show(path, **query)
        expect(page.locator(f'a.long[title="{whole}"]').first, path).to_be_visible()
        expect(page.locator("a:not(.long)", has_text=whole), path).to_have_count(0)
    label = show("/partition", topic=topic, partition=0).locator("svg[role=img] text:has(title)")
    expect(label).to_contain_text("…")
    expect(label.locator("title")).to_have_text(group)


def test_records_are_searched_by_offset_time_key_text_and_json_path(show: Open, producer: Producer, topic: str) -> None:
    write(producer, topic, [json.dumps({"order": {"id": n, "name": f"n{n}"}}) for n in range(120)], end="commit")
    page = show("/records", topic=topic)
    expect(rows(page)).to_have_count(50)
    expect(rows(page).first).to_contain_text("0:119")
    page.get_by_role("link", name="Older").click()
    expect(rows(page).first).to_contain_text("0:69")
    page = show("/records", topic=topic, partition=0, offset=30, **{"from": "offset"})
    expect(rows(page).first).to_contain_text("0:30")
    page.get_by_role("link", name="Next").click()
    expect(rows(page).first).to_contain_text("0:80")
    page = show("/records", topic=topic, key="key-11", **{"from": "oldest"})
    expect(page.locator("#more")).to_contain_text("End of the search")
    expect(rows(page)).to_have_count(11)  # key-11, key-110 to key-119
    page = show("/records", topic=topic, path="order.id", equals="77")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("key-77")
    page = show("/records", topic=topic, text='"n3"')
    expect(rows(page)).to_have_count(1)
    page = show("/records", topic=topic, time="1h", **{"from": "time"})
    expect(rows(page).first).to_contain_text("0:0")
    page = show("/records", topic=topic, time="2199-01-01T00:00Z", **{"from": "time"})
    expect(page.locator("#more")).to_have_text("No records here.")
    page = show("/records", topic=topic, path="$[")
    expect(page.get_by_role("alert")).to_contain_text("a JSON path is written like")


def test_times_are_shown_in_the_time_zone_of_the_visitor(show: Open, producer: Producer, topic: str) -> None:
    producer.begin_transaction()
    producer.send_and_wait(topic, b"x", partition=0, timestamp_ms=1_767_225_600_000)  # 2026-01-01T00:00:00Z
    producer.commit_transaction()
    page = show("/records", topic=topic)
    expect(rows(page).locator("time")).to_have_text("2026-01-01 05:45:00.000")


def test_the_live_tail_shows_new_records_and_their_outcomes(show: Open, producer: Producer, topic: str) -> None:
    page = show("/records", topic=topic)
    page.get_by_role("button", name="Live tail").click()
    expect(page.locator("#tail-state")).to_have_text("Live: waiting for records.")
    write(producer, topic, ["now"], end=None)
    expect(page.locator("#rows .outcome.open")).to_be_visible()
    producer.commit_transaction()
    expect(page.locator("#rows .outcome.committed")).to_be_visible()
    page.get_by_role("button", name="Live tail").click()
    expect(page.locator("#tail-state")).to_have_text("The live tail was stopped.")


def test_values_are_decoded_as_requested(show: Open, producer: Producer, topic: str) -> None:
    producer.begin_transaction()
    producer.send_and_wait(topic, b"\x00\x00\x00\x00\x07\x06\x08abcd", partition=0)  # Avro: {"n": 3, "s": "abcd"}
    producer.commit_transaction()
    page = show("/records", topic=topic)
    expect(rows(page)).to_contain_text("00 00 00 00 07 06 08 61 62 63 64")
    page.get_by_text("Avro schema for values").click()
    schema = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "int"}, {"name": "s", "type": "string"}]}
    page.get_by_label("Schema (JSON)").fill(json.dumps(schema))
    page.get_by_role("button", name="Decode values").click()
    expect(rows(page)).to_contain_text('{"n": 3, "s": "abcd"}')
    page = show("/records", topic=topic, path="n", equals="3")
    expect(rows(page)).to_have_count(1)
    page = show("/records", topic=topic, vd="text")
    expect(rows(page)).to_contain_text("abcd")


def test_the_coordinators_own_topics_are_decoded(show: Open, producer: Producer, topic: str) -> None:
    write(producer, topic, ["x"], end="commit")
    page = show("/records", topic="__transaction_state", text=f"tx-{topic}", key=f"tx-{topic}")
    expect(page.locator("#more")).to_be_visible()
    page = show("/records", topic="__transaction_state", key=f"tx-{topic}", path="value.state", equals="CompleteCommit")
    expect(rows(page).first).to_contain_text('"state": "CompleteCommit"')


# --- transactions


def test_an_open_transaction_reports_what_it_holds_back_and_can_be_aborted(
    show: Open, producer: Producer, topic: str, broker: RunningBroker
) -> None:
    write(producer, topic, ["first"], end="commit")
    with Consumer(
        bootstrap_servers=broker.bootstrap_servers, group_id=f"g-{topic}", enable_auto_commit=False
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.commit({TopicPartition(topic, 0): 2})
    write(producer, topic, ["a", "b", "c"], end=None)
    page = show("/transactions")
    card = page.locator("section.card", has_text=f"tx-{topic}")
    expect(card).to_contain_text("Ongoing")
    held = card.locator("tbody tr")
    expect(held).to_contain_text(f"{topic}-0")
    expect(held.locator("td").nth(2)).to_have_text("3")  # held back
    expect(held).to_contain_text(f"g-{topic}")
    card.get_by_role("link", name="End it").click()
    expect(page.get_by_text("Consequences")).to_be_visible()
    expect(page.locator("main")).to_contain_text("is fenced")
    page.get_by_role("button", name="Abort it and fence its producer").click()
    expect(page.get_by_role("status").first).to_contain_text(f"The transaction of tx-{topic} is aborted")
    expect(page.locator("ol.timeline li", has_text="Prepare abort").first).to_be_visible()
    expect(page.locator("ol.timeline li.abort").first).to_be_visible()
    page = show("/transaction/end", id=f"tx-{topic}")
    expect(page.get_by_role("alert")).to_contain_text("nothing to end")


def test_the_history_of_a_transactional_id_is_a_timeline(
    show: Open, producer: Producer, topic: str, broker: RunningBroker
) -> None:
    write(producer, topic, ["x"], end="commit")
    with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=f"tx-{topic}") as successor:
        write(successor, topic, ["y"], end="abort")
    page = show("/transaction", id=f"tx-{topic}")
    titles = page.locator("ol.timeline strong").all_inner_texts()[::-1]
    assert titles[:4] == ["Producer initialized", "Began", "Prepare commit", "Committed"]
    assert titles[-3:] == ["Began", "Prepare abort", "Aborted"]
    fenced = page.locator("ol.timeline li.fence", has_text="producers with a lower epoch are fenced")
    expect(fenced.first).to_be_visible()


def test_hanging_transactions_are_searched_in_the_background(show: Open, producer: Producer, topic: str) -> None:
    write(producer, topic, ["x"], end=None)
    page = show("/transactions")
    expect(page.locator("#hanging")).to_contain_text(re.compile(r"None in [\d\u202f]+ partitions"))
    assert page.title() == "Transactions · oncelog"  # what was loaded into the page brought a title of its own


def test_an_unknown_page_address_offers_links(page: Page, oncelog_console: RunningConsole) -> None:
    answer = page.goto(f"{oncelog_console.url}/topics/orders")
    assert answer is not None and answer.status == 404
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    page.get_by_role("link", name="Topics").click()
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()


def test_the_producers_of_a_partition_are_shown(show: Open, producer: Producer, topic: str) -> None:
    write(producer, topic, ["x"], end=None)
    page = show("/producers", topic=topic, partition=0)
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text(f"tx-{topic}")


def test_the_chart_draws_outcomes_markers_and_positions_and_refreshes(
    show: Open, producer: Producer, topic: str
) -> None:
    write(producer, topic, ["a"] * 5, end="commit")
    write(producer, topic, ["b"] * 5, end="abort")
    write(producer, topic, ["c"] * 5, end=None)
    page = show("/partition", topic=topic, partition=0)
    chart = page.locator("#live svg[role=img]")
    for kind in ("committed", "aborted", "open"):
        expect(chart.locator(f"rect.{kind}")).to_have_count(1)
    expect(chart.locator("line.mark-commit")).to_have_count(1)
    expect(chart.locator("line.mark-abort")).to_have_count(1)
    expect(chart).to_contain_text("last stable offset 12")
    producer.commit_transaction()
    expect(chart.locator("rect.committed")).to_have_count(2)  # by itself
    expect(page.locator("#live")).to_contain_text("nothing is held back")


# --- groups


def test_a_group_page_shows_both_lags_and_the_members(
    show: Open, producer: Producer, topic: str, broker: RunningBroker
) -> None:
    write(producer, topic, ["a"] * 3, end="commit")
    with Consumer(
        topic, bootstrap_servers=broker.bootstrap_servers, group_id=f"g-{topic}", auto_offset_reset="earliest",
        isolation_level="read_committed", client_id="reader-of-tests",
    ) as consumer:  # fmt: skip
        while not consumer.getmany(timeout_ms=500):
            pass
        consumer.commit()
        write(producer, topic, ["b"] * 4, end=None)
        page = show("/group", name=f"g-{topic}")
        expect(page.locator("#live")).to_contain_text("reader-of-tests")
        position = page.locator("tbody tr", has_text=f"{topic}-0").first
        cells = position.locator("td")
        expect(cells.nth(3)).to_have_text("0")
        expect(cells.nth(4)).to_have_text("4")

        def readers() -> str:
            page = show("/topic", name=topic)
            page.locator("#readers h2").wait_for()
            return page.locator("#readers").inner_text()

        eventually(lambda: f"g-{topic}" in readers())  # positions are remembered for some seconds


def test_a_share_group_shows_start_offsets_and_undelivered_records(
    show: Open, topic: str, broker: RunningBroker
) -> None:
    """Records behind the start that are accepted do not lag; a reset delivers all of them again."""
    group = f"g-{topic}"
    make_topic_and_group(broker.bootstrap_servers, f"{topic}-shared", group)
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for number in range(4):
            producer.send_and_wait(f"{topic}-shared", b"%d" % number)
    with share_consumer(broker.bootstrap_servers, f"{topic}-shared", group) as consumer:
        kinds = {0: AcknowledgeType.RELEASE}
        polled(consumer, bool, lambda message: kinds.get(message.offset() or 0, AcknowledgeType.ACCEPT))
    expect(show("/groups", q=group).locator("#live tbody tr")).to_contain_text("share")
    page = show("/group", name=group)
    expect(page.locator("#live dl")).to_contain_text("1 records that are not delivered for good")
    row = page.locator("tbody tr", has_text=f"{topic}-shared-0").first
    expect(row.locator("td")).to_have_text(["0", "4", "1"])

    def here() -> str:
        return show("/partition", topic=f"{topic}-shared", partition=0).locator("#live").inner_text()

    eventually(lambda: "Share groups here" in here())  # positions are remembered for some seconds
    page = show("/group/reset", name=group, to="latest")
    page.get_by_role("button", name="Set positions").click()
    expect(page.get_by_role("status").first).to_contain_text("1 positions")
    row = show("/group", name=group).locator("tbody tr", has_text=f"{topic}-shared-0").first
    expect(row.locator("td")).to_have_text(["4", "4", "0"])
    page = show("/group/delete", name=group)
    expect(page.locator("main")).to_contain_text("share.auto.offset.reset")
    page.get_by_role("button", name="Delete group").click()
    expect(page.get_by_role("status").first).to_have_text(f"Group {group} was deleted.")


def test_positions_are_reset_as_the_preview_says(show: Open, producer: Producer, topic: str, admin: Admin) -> None:
    write(producer, topic, ["a"] * 9, end="commit")
    group, name = f"g-{topic}", TopicPartition(topic, 0)
    admin.alter_consumer_group_offsets(group, {name: 8})
    page = show("/group", name=group)
    page.get_by_role("link", name="Reset positions").click()
    page.get_by_label("Move").select_option("shift")
    page.get_by_label("Offset, time, or number").fill("-5")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("tbody tr")).to_contain_text("5 offsets are read again")
    assert admin.list_consumer_group_offsets(group)[name].offset == 8
    page.get_by_role("button", name="Set positions").click()
    expect(page.get_by_role("status").first).to_contain_text("1 positions")
    assert admin.list_consumer_group_offsets(group)[name].offset == 3
    page = show("/group/delete", name=group)
    page.get_by_role("button", name="Delete group").click()
    expect(page.get_by_role("status").first).to_have_text(f"Group {group} was deleted.")
    assert group not in [listed.group_id for listed in admin.list_consumer_groups()]


def test_positions_of_a_group_with_members_are_not_reset(show: Open, topic: str, broker: RunningBroker) -> None:
    with Consumer(topic, bootstrap_servers=broker.bootstrap_servers, group_id=f"g-{topic}") as consumer:
        while not consumer.assignment():
            consumer.getmany(timeout_ms=200)
        page = show("/group/reset", name=f"g-{topic}", to="earliest")
        expect(page.get_by_role("alert")).to_contain_text("has members (1); stop them")


def test_the_acls_page_reports_a_missing_authorizer(show: Open) -> None:
    expect(show("/acls").locator("main")).to_contain_text("This cluster has no authorizer")
