"""A partition without a leader, as a node that is gone or a full disk leaves it: pages show the others.

Each page waited a minute for a leader, and the page of all topics then knew the offsets of none.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import oncelog
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from tests.integration.console.test_guard import Answer, ask
from tests.support.running_console import RunningConsole


@pytest.fixture(scope="module")
def console() -> Iterator[RunningConsole]:
    """For a cluster in which partition 1 of topic t, and all of topic lone, have lost their node."""
    with oncelog.Broker(nodes=2) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics(
                [NewTopic("t", replica_assignments={0: [1], 1: [2]}), NewTopic("lone", replica_assignments={0: [2]})]
            )
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send_and_wait("t", b"still here", partition=0)
        broker.node(2).stop()
        properties = {"bootstrap.servers": broker.node(1).bootstrap_servers, "default.api.timeout.ms": "5000"}
        with RunningConsole(properties) as running:
            yield running


def get(console: RunningConsole, path: str) -> Answer:
    return ask(console, "GET", path)


def test_topics_are_listed_without_the_offsets_of_a_leaderless_partition(console: RunningConsole) -> None:
    page = get(console, "/topics")
    assert page.status == 200
    assert "cannot be read" not in page.text
    assert page.text.count("1 without a leader") == 2


def test_the_page_of_a_topic_shows_a_partition_without_a_leader(console: RunningConsole) -> None:
    for topic in ("t", "lone"):
        page = get(console, f"/topic?name={topic}")
        assert page.status == 200
        assert '<td class="num warn">none</td>' in page.text
    assert "2 partitions, 1 offset." in get(console, "/topic?name=t").text


def test_records_of_other_partitions_are_shown_and_the_leaderless_partition_reported(console: RunningConsole) -> None:
    page = get(console, "/records?topic=t")
    assert page.status == 200
    assert "still here" in page.text
    assert "Without a leader now, and so not shown: t-1." in page.text


@pytest.mark.parametrize(
    "path",
    [
        "/records?topic=t&partition=1",
        "/records?topic=lone",
        "/record?topic=t&partition=1&offset=0",
        "/partition?topic=t&partition=1",
    ],
)
def test_a_page_for_a_leaderless_partition_explains_that_no_node_leads_it(console: RunningConsole, path: str) -> None:
    page = get(console, path)
    assert page.status == 400
    assert "no node leads" in page.text


def test_hanging_transactions_are_searched_in_partitions_with_a_leader(console: RunningConsole) -> None:
    page = get(console, "/transactions/hanging")
    assert page.status == 200
    assert "2 partitions have no leader now" in page.text
