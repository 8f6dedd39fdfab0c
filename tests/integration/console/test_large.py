"""A thousand topics, and a topic of ten million records: pages stay small and complete."""

from __future__ import annotations

import asyncio
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Page, Response, expect

from oncelog import Broker
from oncelog.client import aio
from oncelog.client.aio.connection.cluster_access import check
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.connection.wire import PRODUCE
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.records.batch import Compression, Record, encode_batch
from tests.support.running_console import RunningConsole

MAX_BYTES = 200_000
IN_BATCH = 100_000
BATCHES = 100


async def fill(servers: str, topic: str) -> None:
    """Ten million records: the same compressed batch a hundred times. The last batch ends with a record of its own."""
    same = [Record(n, 1_767_225_600_000 + n, b"k", b'{"n":1}') for n in range(IN_BATCH)]
    batch = encode_batch(same, compression=Compression.ZSTD)
    last = encode_batch([*same[:-1], Record(IN_BATCH - 1, same[-1].timestamp, b"needle", b'{"n":2}')],
                        compression=Compression.ZSTD)  # fmt: skip
    async with aio.Admin(bootstrap_servers=servers) as admin:
        node = next(iter(await admin.cluster.leaders(await admin.partitions(topic))))
        for number in range(BATCHES):
            data = PartitionProduceData(index=0, records=last if number == BATCHES - 1 else batch)
            request = ProduceRequest(
                acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
            )
            answer = await admin.cluster.ask(node, PRODUCE, request)
            check(answer.responses[0].partition_responses[0].error_code, "the batch was refused")


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as large:
        servers = large.bootstrap_servers  # which may need minutes for a thousand topics on a busy machine
        with Admin(bootstrap_servers=servers, request_timeout_ms=300_000, default_api_timeout_ms=600_000) as admin:
            admin.create_topics([NewTopic(f"topic-{number:04}", 1) for number in range(1000)])
            admin.create_topics([NewTopic("many", 1, topic_configs={"retention.ms": "-1"})])  # its records are old
        with ThreadPoolExecutor(1) as elsewhere:  # Playwright keeps an event loop in this thread
            elsewhere.submit(lambda: asyncio.run(fill(large.bootstrap_servers, "many"))).result()
        yield large


@pytest.fixture(scope="module")
def console(broker: Broker) -> Iterator[RunningConsole]:
    with RunningConsole({"bootstrap.servers": broker.bootstrap_servers}) as running:
        yield running


def test_a_thousand_topics_are_shown_in_small_pages(page: Page, console: RunningConsole) -> None:
    transferred: list[Response] = []
    page.on("response", lambda answer: transferred.append(answer))
    page.goto(f"{console.url}/topics")
    expect(page.locator("#live tbody tr")).to_have_count(50)
    expect(page.locator("#live")).to_contain_text("1\u202f001 of 1\u202f001 topics, page 1 of 21")
    assert sum(len(one.body()) for one in transferred) < MAX_BYTES
    page.get_by_role("navigation", name="Pages of topics").get_by_role("link", name="21").click()
    expect(page.locator("#live tbody tr")).to_have_count(1)
    page.get_by_label("Name contains").fill("topic-09")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#live tbody tr")).to_have_count(50)


STATIC = re.compile(rb'(/static/[^"\s]+)')


def test_every_page_is_small(console: RunningConsole) -> None:
    """The document and every file that it names, uncompressed and with an empty cache."""

    def fetched(path: str) -> bytes:
        try:
            with urllib.request.urlopen(f"{console.url}{path}", timeout=60) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.read()

    sizes: dict[str, int] = {}
    for path in ("/topic?name=many", "/records?topic=many", "/record?topic=many&partition=0&offset=5000000",
                 "/partition", "/partition?topic=many&partition=0&window=100000", "/transactions", "/groups",
                 "/pipelines", "/brokers", "/broker?id=1", "/acls", "/records", "/topic/create"):  # fmt: skip
        document = fetched(path)
        assert b"<h1" in document, path
        files = {name.decode().replace("&amp;", "&") for name in STATIC.findall(document)}
        assert len(files) >= 4, path
        for name in files - set(sizes):
            sizes[name] = len(fetched(name))
        assert len(document) + sum(sizes[name] for name in files) < MAX_BYTES, path


def test_ten_million_records_are_browsed_from_any_offset(page: Page, console: RunningConsole) -> None:
    rows = page.locator("table.records tbody tr")
    page.goto(f"{console.url}/topic?name=many")
    expect(page.locator("#live")).to_contain_text("10\u202f000\u202f000")
    page.goto(f"{console.url}/records?topic=many")
    expect(rows.first).to_contain_text("0:9999999")
    page.get_by_role("link", name="Older").click()
    expect(rows.first).to_contain_text("0:9999949")
    page.goto(f"{console.url}/records?topic=many&from=offset&offset=5000000")
    expect(rows.first).to_contain_text("0:5000000")
    page.goto(f"{console.url}/partition?topic=many&partition=0&window=100000")
    expect(page.locator("#live svg rect.plain").first).to_be_visible()


def test_a_search_continues_by_itself_and_can_be_stopped(page: Page, console: RunningConsole) -> None:
    page.goto(f"{console.url}/records?topic=many&from=offset&offset=9880000&key=needle")
    expect(page.locator("table.records tbody tr[data-offset]").last).to_contain_text("0:9999999", timeout=240_000)
    page.goto(f"{console.url}/records?topic=many&from=oldest&key=nothing-has-this")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#more")).to_have_count(0)
