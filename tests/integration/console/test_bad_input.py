"""What a page does with malicious data, and with a broker that is missing, dies or refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, Response, expect

from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.support.free_ports import free_ports
from tests.support.running_console import RunningConsole

ONCELOG = Path(sys.executable).parent / "oncelog"
SCRIPTS = [
    b"<script>document.title = 'run'</script>",
    b"<img src=x onerror=\"document.title = 'run'\">",
    b"\"'><svg onload=\"document.title = 'run'\">",
    b"{{ 7 * 7 }} ${7 * 7} <div hx-get='/topics' hx-trigger='load'>x</div>",
    b"</pre></td></table><a href=\"javascript:document.title='run'\">x</a>",
    json.dumps({"</script><script>document.title='run'</script>": "<b onclick=run()>"}).encode(),
]


@pytest.fixture
def topic(oncelog_broker: RunningBroker, unique_name: str) -> str:
    with Admin(bootstrap_servers=oncelog_broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1)])
    return unique_name


def at(console: RunningConsole, path: str, /, **query: object) -> str:
    return f"{console.url}{path}?{urlencode(query)}"


def test_scripts_in_keys_values_headers_and_names_are_shown_and_never_run(
    page: Page, oncelog_console: RunningConsole, oncelog_broker: RunningBroker, topic: str
) -> None:
    evil_id = f"<script>document.title = 'run'</script>{topic}"
    servers = oncelog_broker.bootstrap_servers
    with Producer(bootstrap_servers=servers, transactional_id=evil_id) as producer:
        producer.begin_transaction()
        for text in SCRIPTS:
            producer.send_and_wait(topic, text, key=text, headers=[(text.decode(), text)], partition=0)
        producer.commit_transaction()
    with Admin(bootstrap_servers=servers) as admin:
        admin.alter_consumer_group_offsets(evil_id, {TopicPartition(topic, 0): 1})
    addresses = [
        at(oncelog_console, "/records", topic=topic),
        at(oncelog_console, "/partition", topic=topic, partition=0),
        at(oncelog_console, "/transactions"),
        at(oncelog_console, "/transaction", id=evil_id),
        at(oncelog_console, "/groups"),
        at(oncelog_console, "/group", name=evil_id),
        at(oncelog_console, "/records", topic=topic, key=SCRIPTS[0].decode(), text=SCRIPTS[1].decode()),
        at(oncelog_console, "/topics", q=SCRIPTS[2].decode()),
        at(oncelog_console, "/records", topic=SCRIPTS[1].decode()),
        *(at(oncelog_console, "/record", topic=topic, partition=0, offset=n) for n in range(len(SCRIPTS))),
    ]
    for address in addresses:
        page.goto(address)
        expect(page.locator("h1").first).to_be_visible()
        assert page.title() != "run", address
        assert page.locator("main script, main img, main [onload], main [onclick], main [onerror]").count() == 0
    page.goto(at(oncelog_console, "/record", topic=topic, partition=0, offset=0))
    expect(page.locator('pre[aria-label="Value"]')).to_have_text(SCRIPTS[0].decode())


def test_scripts_in_the_live_tail_are_shown_and_never_run(
    page: Page, oncelog_console: RunningConsole, oncelog_broker: RunningBroker, topic: str
) -> None:
    page.goto(at(oncelog_console, "/records", topic=topic))
    page.get_by_role("button", name="Live tail").click()
    expect(page.locator("#tail-state")).to_have_text("Live: waiting for records.")
    with Producer(bootstrap_servers=oncelog_broker.bootstrap_servers) as producer:
        for text in SCRIPTS:
            producer.send_and_wait(topic, text, key=text)
    expect(page.locator("#rows")).to_contain_text("<script>document.title = 'run'</script>")
    assert page.title() != "run"


def test_a_large_record_and_a_binary_key_are_shown(
    page: Page, oncelog_console: RunningConsole, oncelog_broker: RunningBroker, topic: str
) -> None:
    large = b"m" * 1_000_000
    with Producer(bootstrap_servers=oncelog_broker.bootstrap_servers) as producer:
        for _ in range(12):
            producer.send_and_wait(topic, large, key=b"\xff\x00\xfe")
        producer.send_and_wait(topic, None, key=None)
    transferred: list[Response] = []
    page.on("response", lambda answer: transferred.append(answer))
    page.goto(at(oncelog_console, "/records", topic=topic))
    rows = page.locator("table.records tbody tr")
    expect(rows.nth(0)).to_contain_text("null")
    expect(rows.nth(1)).to_contain_text("ff 00 fe")
    expect(rows.nth(1)).to_contain_text("976.6 KB")
    assert sum(len(one.body()) for one in transferred) < 200_000
    page.goto(at(oncelog_console, "/record", topic=topic, partition=0, offset=0))
    expect(page.locator("main")).to_contain_text("Only the beginning is shown.")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download its 1\u202f000\u202f000 bytes").click()
    assert download.value.path().read_bytes() == large


@pytest.mark.parametrize("name", ["../x", "a/b", "", "%2e%2e%2fx", "x" * 300, "no-such-topic", "<b>", "\u0000"])
def test_invalid_names_show_an_error_page(page: Page, oncelog_console: RunningConsole, name: str) -> None:
    for path, parameter in [("/topic", "name"), ("/records", "topic"), ("/partition", "topic"), ("/group", "name"),
                            ("/transaction", "id"), ("/producers", "topic")]:  # fmt: skip
        answer = page.goto(at(oncelog_console, path, **{parameter: name}))
        assert answer is not None
        assert answer.status < 500 or answer.status == 502, (path, answer.status)
        expect(page.locator("h1").first).to_be_visible()


@pytest.mark.parametrize(
    "query",
    ["partition=x", "partition=-1", "partition=99999999999999999999", "from=offset&offset=9999999999999999999999",
     "from=offset&offset=-5", "from=time&time=yesterday", "at=0:99999999", "at=;;;&before=::", "before=7:3", "key=0xzz",
     "path=%24..%5B%3F%40%5D", "path=%24%5B", "equals=5", "kd=nonsense&vd=nonsense", "partition=0&offset=%00"],
)  # fmt: skip
def test_invalid_query_strings_are_answered_by_an_html_page(
    page: Page, oncelog_console: RunningConsole, topic: str, query: str
) -> None:
    answer = page.goto(f"{oncelog_console.url}/records?topic={topic}&{query}")
    assert answer is not None
    assert answer.status in (200, 400, 404)
    expect(page.locator("h1").first).to_be_visible()


# --- a broker that is not there


class Process:
    """Our broker, which the test may kill."""

    def __init__(self, port: int, data: Path) -> None:
        command = [str(ONCELOG), "serve", "--listen", f"127.0.0.1:{port}", "--data", str(data), "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert "listening" in json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture
def free_port() -> int:
    (port,) = free_ports(1)
    return port


@pytest.fixture
def started(free_port: int, tmp_path: Path) -> Iterator[list[Process]]:
    running: list[Process] = []
    yield running
    for one in running:
        one.kill()


def test_pages_report_an_unreachable_broker_and_recover_by_themselves(
    page: Page, started: list[Process], free_port: int, tmp_path: Path
) -> None:
    servers = f"127.0.0.1:{free_port}"
    with RunningConsole({"bootstrap.servers": servers}) as console:
        answer = page.goto(f"{console.url}/topics")
        assert answer is not None
        assert answer.status == 503
        expect(page.get_by_role("alert")).to_contain_text("The broker is not answering")
        expect(page.get_by_role("alert")).to_contain_text(servers)

        started.append(Process(free_port, tmp_path))
        expect(page.get_by_role("heading", name="Topics")).to_be_visible(timeout=120_000)
        expect(page).to_have_title("Topics · oncelog")  # it stayed that of the error
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic("seen", 1)])
        expect(page.locator("#live")).to_contain_text("seen")

        page.goto(f"{console.url}/partition?topic=seen&partition=0")
        expect(page.locator("#live svg[role=img]")).to_be_visible()
        started[-1].kill()
        expect(page.get_by_role("alert")).to_contain_text("The broker is not answering")
        started.append(Process(free_port, tmp_path))
        expect(page.locator("#live svg[role=img]")).to_be_visible(timeout=120_000)
        with Producer(bootstrap_servers=servers) as producer:
            producer.send_and_wait("seen", b"again")
        expect(page.locator("#live svg rect.plain")).to_be_visible(timeout=120_000)


def test_the_live_tail_continues_after_a_broker_died_and_restarted(
    page: Page, started: list[Process], free_port: int, tmp_path: Path
) -> None:
    servers = f"127.0.0.1:{free_port}"
    started.append(Process(free_port, tmp_path))
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic("seen", 1)])
    with RunningConsole({"bootstrap.servers": servers}) as console:
        page.goto(f"{console.url}/records?topic=seen")
        page.get_by_role("button", name="Live tail").click()
        expect(page.locator("#tail-state")).to_have_text("Live: waiting for records.")
        started[-1].kill()
        expect(page.locator("#tail-state")).to_contain_text("the broker does not answer")
        started.append(Process(free_port, tmp_path))
        expect(page.locator("#tail-state")).to_contain_text("answers again")
        with Producer(bootstrap_servers=servers) as producer:
            producer.send_and_wait("seen", b"after")
        expect(page.locator("#rows")).to_contain_text("after")


def test_a_page_reports_that_the_console_ended_and_continues_when_it_is_back(
    page: Page, oncelog_broker: RunningBroker
) -> None:
    properties = {"bootstrap.servers": oncelog_broker.bootstrap_servers}
    with RunningConsole(properties) as console:
        page.goto(f"{console.url}/brokers")
        expect(page.get_by_role("heading", name="Brokers")).to_be_visible()
    expect(page.locator("#offline")).to_be_visible(timeout=120_000)
