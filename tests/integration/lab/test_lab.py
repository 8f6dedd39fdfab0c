"""``oncelog lab``: each flow keeps its promises on our broker and on Apache Kafka, and is drawn from what was
observed.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

import oncelog
from oncelog.apps.lab.diagram import PHONE, WIDE, draw
from oncelog.apps.lab.flow_context import FlowContext, LabError
from oncelog.apps.lab.flows import FLOWS, run
from oncelog.apps.lab.page import render
from oncelog.apps.lab.trace import Promise, Trace, TraceBatch, TraceDelivery, TraceEvent, TraceKind, as_lines
from oncelog.client.core.config import AdminConfig
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call
from tests.support.older_broker import older_broker
from tools.draw_lab import DRAWN, FOLDER

NEEDS_OUR_BROKER = {"coordinator-dies", "hanging"}
SIDES = ("x", "y", "width", "height")
SVG = "{http://www.w3.org/2000/svg}"


def settings_for(address: str) -> AdminConfig:
    return AdminConfig.from_properties({"bootstrap.servers": address})


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_runs_on_a_broker_of_its_own(name: str) -> None:
    trace = run(FLOWS[name])
    assert trace.promises
    assert [promise.text for promise in trace.promises if not promise.held] == []


@pytest.mark.parametrize("name", sorted(FLOWS.keys() - NEEDS_OUR_BROKER))
def test_a_flow_runs_on_a_cluster(broker: RunningBroker, name: str) -> None:
    trace = run(FLOWS[name], settings_for(broker.bootstrap_servers))
    assert [promise.text for promise in trace.promises if not promise.held] == []
    with oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        deadline = time.monotonic() + 60  # a broker of Apache Kafka may learn of a deletion after its answer
        while trace.topic in admin.list_topics():
            assert time.monotonic() < deadline, f"{trace.topic} is still there"
            time.sleep(0.1)


def test_a_flow_interrupted_while_its_topic_is_deleted_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The topic is gone already when it is deleted again."""
    delete = oncelog.Admin.delete_topics

    def ended(admin: oncelog.Admin, topics: list[str]) -> None:
        monkeypatch.undo()
        delete(admin, topics)
        raise SystemExit(143)

    monkeypatch.setattr(oncelog.Admin, "delete_topics", ended)
    with pytest.raises(SystemExit, match="143"):
        run(FLOWS["commit"])


@pytest.mark.parametrize("name", sorted(NEEDS_OUR_BROKER))
def test_flows_that_need_an_oncelog_broker_are_refused_on_a_cluster(broker: RunningBroker, name: str) -> None:
    with pytest.raises(LabError, match="leave --bootstrap-server out"):
        run(FLOWS[name], settings_for(broker.bootstrap_servers))


def test_flows_on_an_older_broker_are_shown_or_left_out_with_the_reason(tmp_path: Path) -> None:
    """Apache Kafka 2.8 does not take the newest Produce, and cannot be asked for the state of a transaction."""
    with older_broker() as broker:
        reported = call(
            "lab", "all", "--html", tmp_path / "lab.html", "--json", "--bootstrap-server", broker.bootstrap_servers
        )
        with pytest.raises(LabError, match="does not offer DescribeTransactions; Apache Kafka supports it since"):
            run(FLOWS["commit"], settings_for(broker.bootstrap_servers))
    assert reported.code == 0
    shown = [trace["flow"] for trace in reported.json["flows"]]
    assert shown == ["acknowledged", "acks-lost", "batch-lost", "cache-overrun", "new-pid"]
    left_out = reported.err.splitlines()
    assert {line.split()[0] for line in left_out if "is left out" in line} == FLOWS.keys() - set(shown)


def test_a_broker_without_a_verification_setting_is_not_shown_as_verifying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apache Kafka before 3.6."""
    monkeypatch.setattr(FlowContext, "setting_of_broker", lambda *_: None)
    assert run(FLOWS["hanging"]).held


@pytest.mark.parametrize("name", ["acks-lost", "cache-overrun", "zombie"])
def test_a_flow_runs_on_several_nodes(name: str) -> None:
    with oncelog.Broker(nodes=3) as three:
        trace = run(FLOWS[name], settings_for(three.bootstrap_servers))
    assert [promise.text for promise in trace.promises if not promise.held] == []


def test_a_flow_runs_with_a_login() -> None:
    settings = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "sasl.enabled.mechanisms": "SCRAM-SHA-256"}
    user = "SCRAM-SHA-256=[name=anna,password=secret]"
    with oncelog.Broker(settings=settings, first_users=[user]) as secured:
        login = {
            "bootstrap.servers": secured.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": 'org.apache.kafka.common.security.scram.ScramLoginModule required username="anna" '
            'password="secret";',
        }
        assert run(FLOWS["commit"], AdminConfig.from_properties(login)).held


def test_a_duplicate_is_shown_with_the_sequence_and_offset_of_the_original() -> None:
    trace = run(FLOWS["acks-lost"])
    sent = [event for event in trace.events if event.text.startswith("Produce b")]
    answers = [
        event for event in trace.events if event.kind is TraceKind.ANSWER and event.fields.get("base_offset") == 1
    ]
    assert len({tuple(sorted((name, str(value)) for name, value in event.fields.items())) for event in sent}) == 1
    assert [(event.delivery, event.fields.get("duplicate")) for event in answers] == [
        (TraceDelivery.LOST, None),
        (TraceDelivery.ARRIVED, True),
    ]


def texts(svg: str) -> list[str]:
    return ["".join(found.itertext()) for found in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", DRAWN)
def test_the_drawings_of_the_docs_are_current(name: str) -> None:
    """Except for requests that are deferred and repeated, which depend on timing."""
    kept = {text for text in texts((FOLDER / f"lab-{name}.svg").read_text()) if not text.isdecimal()}
    fresh = {text for text in texts(draw(run(FLOWS[name]))) if not text.isdecimal()}
    timely = {"CONCURRENT_TRANSACTIONS", "InitProducerId transfer-1"}
    assert kept - timely == fresh - timely, "run python -m tools.draw_lab"


# --- drawing


def story_of(*events: TraceEvent, promises: tuple[Promise, ...] = ()) -> Trace:
    entry = TraceBatch(0, 1, "committed", 7, 0, 0, ("<a>", "b"), None)
    lanes = ["producer", "broker"]
    return Trace("made-up", "Made & up", "Nothing.", "here", "orders", lanes, list(events), [entry], [*promises], {})


LOST = TraceEvent(TraceKind.REQUEST, "producer", "broker", "Produce <a>", TraceDelivery.LOST)
NOTE = TraceEvent(TraceKind.NOTE, "producer", "producer", "long " * 60)


@pytest.mark.parametrize("layout", [WIDE, PHONE])
def test_no_element_lies_outside_the_drawing(layout: object) -> None:
    svg = draw(story_of(LOST, NOTE), layout)  # type: ignore[arg-type]
    root = ElementTree.fromstring(svg)
    width, height = (float(number) for number in root.attrib["viewBox"].split()[2:])
    boxes = [{name: float(box.attrib[name]) for name in SIDES} for box in root.iter(f"{SVG}rect")]
    assert boxes
    for box in boxes:
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert 0 <= box["y"] <= box["y"] + box["height"] <= height
    assert len(list(root.iter(f"{SVG}path"))) == 2, "a lost message has an arrow and a cross, and no tip"


def test_the_page_loads_nothing_external_and_escapes_its_content() -> None:
    page = render([story_of(LOST, promises=(Promise("it <holds>", False),))])
    assert set(re.findall(r"https?://[^\"' <]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script|<link|<img|@import|url\(", page)
    assert "<a>," not in page
    assert 'class="broken">it &lt;holds&gt;' in page


def test_the_text_names_lost_records_and_broken_promises() -> None:
    lines = as_lines(story_of(LOST, promises=(Promise("it holds", False),)))
    assert any("producer -x broker  Produce <a> (lost)" in line for line in lines)
    assert "  DOES NOT HOLD: it holds" in lines


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_and_follows_the_theme(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    path = tmp_path / "lab.html"
    path.write_text(render([run(FLOWS["zombie"]), run(FLOWS["hanging"])]))
    with browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme) as visitor:  # type: ignore[arg-type]
        page = visitor.new_page()
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == width
        shown = page.locator("svg:visible")
        assert shown.count() == 2
        assert "phone" in str(shown.first.get_attribute("class")) or width > 640
        ink = page.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
        assert (sum(map(int, re.findall(r"\d+", ink)[:3])) > 380) == (scheme == "dark")


# --- the command


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "lab.html"


def test_the_lab_command_prints_text_drawings_and_json(page: Path) -> None:
    reported = call("lab", "commit", "acks-lost", "--html", page).done().out
    assert "PID 0, epoch 0, sequence 1" in reported
    assert page.read_text().count("<section") == 2
    answer = json.loads(call("lab", "commit", "--html", page, "--json").done().out)
    (flow,) = answer["flows"]
    assert (flow["flow"], flow["held"], answer["page"]) == ("commit", True, str(page))
    assert {"kind", "from", "to", "text", "delivery"} <= flow["events"][0].keys()
    assert [entry["outcome"] for entry in flow["log"]] == ["committed", "committed", "commit marker"]


def test_the_lab_command_writes_no_file_unless_asked(tmp_path: Path) -> None:
    assert "PID 0" in call("lab", "commit", cwd=tmp_path).done().out
    assert list(tmp_path.iterdir()) == []


def test_the_lab_command_lists_its_flows(page: Path) -> None:
    assert [row["flow"] for row in json.loads(call("lab", "--json").done().out)] == list(FLOWS)


def test_a_flow_that_does_not_exist_is_refused_and_the_nearest_name_suggested(page: Path) -> None:
    assert "did you mean zombie?" in call("lab", "zombi", "--html", page).sentence()
    assert not page.exists()


def test_an_impossible_flow_is_named_in_the_refusal_and_left_out_of_all(
    oncelog_broker: RunningBroker, page: Path
) -> None:
    to_it = ("--bootstrap-server", oncelog_broker.bootstrap_servers, "--html", page)
    assert "coordinator cannot be crashed from outside" in call("lab", "coordinator-dies", *to_it).sentence()


def test_each_flow_is_reported_when_it_ends(oncelog_broker: RunningBroker, page: Path) -> None:
    to_it = ("--bootstrap-server", oncelog_broker.bootstrap_servers, "--html", page)
    reported = call("lab", "commit", "coordinator-dies", *to_it)
    assert "coordinator cannot be crashed from outside" in reported.sentence()
    assert FLOWS["commit"].title in reported.out


def test_settings_of_a_client_need_a_cluster(page: Path) -> None:
    refused = call("lab", "commit", "--html", page, "--set", "security.protocol=SSL")
    assert "need --bootstrap-server" in refused.sentence()
