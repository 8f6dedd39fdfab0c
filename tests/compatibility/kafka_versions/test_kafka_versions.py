"""Clients, mirror, ``lab``, console and ``conformance`` on each release of Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import oncelog
import oncelog.client.aio
from oncelog import NewTopic, TopicPartition
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.conformance.registry import all_checks, cases_of
from oncelog.apps.conformance.runner import CheckOutcome, run
from oncelog.apps.lab import flows
from oncelog.apps.lab.flow_context import LabError
from oncelog.client.core.client_errors import ProducerFenced
from oncelog.client.core.config import AdminConfig
from oncelog.client.core.releases import first_with
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated import API_VERSIONS
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from tests.compatibility.kafka_versions.versions import RELEASES, SHORT
from tests.integration.client.reading import values
from tests.integration.conformance.test_command import open_on
from tests.integration.console.test_guard import ask
from tests.integration.mirror.test_mirror import Clusters, caught_up, clusters
from tests.support.apache_kafka import ApacheKafka
from tests.support.running_console import RunningConsole
from tests.support.version_results import note

pytestmark = [pytest.mark.timeout(1200)]
case = pytest.mark.case
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
NEED_OUR_BROKER = {"coordinator-dies", "hanging"}


@pytest.fixture
def topic(kafka: ApacheKafka, unique_name: str) -> str:
    with oncelog.Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 2, 1)])
    return unique_name


def test_messages_name_the_first_release_with_an_api_version(
    kafka: ApacheKafka, request: pytest.FixtureRequest
) -> None:
    with RawConnection(kafka.bootstrap_servers) as connection:
        rows = connection.ask(ApiVersionsRequest(), 0).api_keys
    highest = {row.api_key: row.max_version for row in rows}
    release = RELEASES[request.node.callspec.params["kafka"]].release
    wrong = {}
    for key, known in API_VERSIONS.items():
        for version in range(known.lowest, known.highest_stable + 1):
            first = first_with(ApiKey(key), version)
            if first is None or "KRaft" in first:
                continue
            is_offered = version <= highest.get(key, -1)
            if is_offered != (release >= tuple(map(int, first.split(".")))):
                wrong[f"{ApiKey(key).name} {version}"] = first, is_offered
    assert wrong == {}


@case("idempotent producer with each codec, consumer group", short=SHORT)
def test_records_arrive_once_and_a_group_continues(kafka: ApacheKafka, topic: str) -> None:
    servers = kafka.bootstrap_servers
    for codec in CODECS:
        with oncelog.Producer(bootstrap_servers=servers, compression_type=codec) as producer:
            for number in range(20):
                producer.send(topic, b"%s %d" % (codec.encode(), number), partition=0)
    expected = [b"%s %d" % (codec.encode(), number) for codec in CODECS for number in range(20)]
    assert values(servers, topic) == expected
    read: list[bytes | None] = []
    for _ in range(2):
        with oncelog.Consumer(
            topic, bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest", enable_auto_commit=False
        ) as consumer:
            read += [next(consumer).value for _ in range(50)]
            consumer.commit()
    assert read == expected


@case("transactions: commit, abort, offsets of a group, fencing", short=SHORT)
def test_transactions_are_atomic_and_zombies_fenced(kafka: ApacheKafka, topic: str) -> None:
    servers, name = kafka.bootstrap_servers, TopicPartition(topic, 0)

    def producer() -> oncelog.Producer:
        return oncelog.Producer(bootstrap_servers=servers, transactional_id=topic)

    with producer() as old:
        with old.transaction():
            old.send(topic, b"one", partition=0)
            old.send_offsets_to_transaction({name: 3}, topic)
        old.begin_transaction()
        old.send(topic, b"aborted", partition=0).result()
        old.abort_transaction()
        old.begin_transaction()
        old.send(topic, b"of the old one", partition=0).result()
        with producer() as new:
            with pytest.raises(ProducerFenced):
                old.commit_transaction()
            with new.transaction():
                new.send(topic, b"two", partition=0)
    assert values(servers, topic) == [b"one", b"two"]
    with oncelog.Admin(bootstrap_servers=servers) as admin:
        assert admin.list_consumer_group_offsets(topic)[name].offset == 3
    assert open_on_topic(servers, topic) == set()


def open_on_topic(servers: str, topic: str) -> set[int]:
    return {producer_id for name, producer_id in open_on(servers) if name.topic == topic}


async def copied(made: Clusters) -> None:
    async with oncelog.client.aio.Producer(
        bootstrap_servers=made.addresses[0], transactional_id=made.topic
    ) as producer:
        await made.transaction(producer, b"one", b"two")
        await producer.commit_transaction()
        await made.transaction(producer, b"aborted")
        await producer.abort_transaction()
    await made.write(b"three")
    mirror = await made.mirrored()
    await mirror.close()
    await made.write(b"four")
    again = await made.started()
    await caught_up(again)
    assert await made.values() == [b"one", b"two", b"three", b"four"]
    await made.check_equal()
    await again.close()


@case("mirror, from it", short=SHORT)
def test_each_release_can_be_the_source_of_a_mirror(kafka: ApacheKafka, unique_name: str) -> None:
    mirrored_between(kafka, unique_name, away=True)


@case("mirror, to it", short=SHORT)
def test_each_release_can_be_the_target_of_a_mirror(kafka: ApacheKafka, unique_name: str) -> None:
    mirrored_between(kafka, unique_name, away=False)


def mirrored_between(kafka: ApacheKafka, topic: str, *, away: bool) -> None:
    async def flow(addresses: tuple[str, str]) -> None:
        async with clusters(addresses, topic) as made:
            await copied(made)

    with oncelog.Broker() as broker:
        ends = (kafka.bootstrap_servers, broker.bootstrap_servers)
        asyncio.run(flow(ends if away else (ends[1], ends[0])))


@case("`lab`, the flows that a cluster can show")
def test_each_lab_flow_keeps_its_promises_on_each_release(kafka: ApacheKafka, request: pytest.FixtureRequest) -> None:
    config = AdminConfig.from_properties({"bootstrap.servers": kafka.bootstrap_servers})
    shown = 0
    wanted = [flow for name, flow in flows.FLOWS.items() if name not in NEED_OUR_BROKER]
    for flow in wanted:
        try:
            trace = flows.run(flow, config)
        except LabError as error:
            if "this cluster cannot show this flow" not in str(error):
                raise
        else:
            shown += 1
            assert [promise.text for promise in trace.promises if not promise.held] == []
    assert shown
    note(request, f"yes, {shown} of {len(wanted)}")


@pytest.fixture
def console(kafka: ApacheKafka, topic: str) -> Iterator[RunningConsole]:
    servers = kafka.bootstrap_servers
    with oncelog.Producer(bootstrap_servers=servers, transactional_id=topic) as producer, producer.transaction():
        producer.send(topic, b"one", partition=0)
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, topic)
    with RunningConsole({"bootstrap.servers": servers}) as running:
        yield running


@case("console, its pages")
def test_the_console_shows_its_pages_on_each_release(
    kafka: ApacheKafka, console: RunningConsole, topic: str, request: pytest.FixtureRequest
) -> None:
    """Apache Kafka before 3.0 cannot be asked for its transactions: the page says so."""
    with oncelog.Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
        has_transactions = ApiKey.LIST_TRANSACTIONS in admin.describe_api_versions()
    partition = f"topic={topic}&partition=0"
    pages = [
        *("/partition", "/topics", f"/topic?name={topic}", f"/topic/readers?name={topic}", f"/records?{partition}"),
        *(f"/record?{partition}&offset=0", f"/producers?{partition}", "/groups", f"/group?name={topic}"),
        *("/brokers", "/broker?id=1", "/transactions", f"/transaction?id={topic}", "/transactions/hanging"),
    ]
    answers = {page: ask(console, "GET", page) for page in pages}
    refused = {page for page, answer in answers.items() if answer.status != 200}
    assert [page for page in refused if "since 3.0" not in answers[page].text] == []
    assert refused == (set() if has_transactions else {"/transactions", f"/transaction?id={topic}"})
    assert "one" in answers[f"/record?{partition}&offset=0"].text
    assert all(topic in answers[page].text for page in pages if topic in page and page not in refused)
    note(request, f"yes, {len(pages) - len(refused)} of {len(pages)}")


@case("`conformance`, every check; afterwards no open transaction")
def test_conformance_reports_no_failure_and_leaves_no_topic_or_transaction_open(
    kafka: ApacheKafka, request: pytest.FixtureRequest
) -> None:
    servers = kafka.bootstrap_servers
    before = open_on(servers)
    report = run(AdminConfig.from_properties({"bootstrap.servers": servers}), cases_of(all_checks()))
    failed = [(one.name, one.text) for one in report.results if one.outcome is CheckOutcome.FAILED]
    assert (failed, report.left_behind) == ([], [])
    assert open_on(servers) <= before
    passed = report.count(CheckOutcome.PASSED)
    note(request, f"yes, {passed} of {len(report.results)}")
