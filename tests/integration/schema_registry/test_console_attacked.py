"""The console's schema pages with what a hostile registry, or who registers there, puts into names and texts."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

import oncelog
from oncelog.apps.console import schema_lookup
from oncelog.apps.console.pages import schemas as pages
from tests.integration.schema_registry.stand_in import JSON_ANSWER, Answer, StandIn, running
from tests.support.running_console import RunningConsole

SCRIPT = "<script>alert(1)</script>\"'>{{7*7}}"
NAMES = [
    SCRIPT,
    "a/b",
    "a%2Fb",
    "../../login?next=//evil",
    "..",
    "käse 🧀",
    "line\nbreak\r\n\0",
    "?q=1&x#y",
    "\ud800",
    "x" * 5000,
    " ",
]


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def started(stand_in: StandIn) -> Iterator[RunningConsole]:
    with pytest.MonkeyPatch.context() as patch, oncelog.Broker() as broker:
        patch.setattr(schema_lookup, "TIMEOUT_S", 2.0)
        servers = {"bootstrap.servers": broker.bootstrap_servers}
        with RunningConsole(servers, schema_registry={"url": stand_in.url}) as console:
            yield console


@pytest.fixture
def console(started: RunningConsole, stand_in: StandIn) -> Iterator[RunningConsole]:
    yield started
    stand_in.misbehave = lambda target: None


def page(console: RunningConsole, address: str, /, **query: object) -> tuple[int, str]:
    """Status and page."""
    try:
        with closing(urlopen(f"{console.url}{address}?{urlencode(query)}", timeout=60)) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with closing(error):
            return error.code, error.read().decode()


def ok(body: Any) -> Answer:
    return 200, JSON_ANSWER, json.dumps(body).encode()


def answers(stand_in: StandIn, versions: list[Any], *texts: str, subject: str = "s", **more: Any) -> None:
    """The registry has one subject with these versions, whose texts these are; the last one is that of the others."""

    def misbehave(target: str) -> Answer:
        if target.endswith("/versions"):
            return ok(versions)
        number = int(target.rpartition("/")[2])
        text = texts[max(0, min(number, len(texts)) - 1)]
        return ok({"subject": subject, "version": number, "id": number, "schema": text, **more})

    stand_in.misbehave = misbehave


def test_subjects_with_any_name_are_listed_and_no_script_runs(console: RunningConsole, stand_in: StandIn) -> None:
    stand_in.misbehave = lambda target: ok(NAMES)
    status, found = page(console, "/schemas")
    assert status == 200
    assert "<script>alert" not in found
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in found
    assert "{{7*7}}" in found, "no template is made of it"
    assert f"{len(NAMES)} of {len(NAMES)} subjects" in found
    assert 'href="/schema?subject=..%2F..%2Flogin%3Fnext%3D%2F%2Fevil"' in found, "a name leads nowhere else"


@pytest.mark.parametrize("name", NAMES, ids=[ascii(name)[:12] for name in NAMES])
def test_every_subject_has_a_page_whatever_its_name(console: RunningConsole, stand_in: StandIn, name: str) -> None:
    if name == "\ud800":
        status, found = page(console, "/schema", subject=name.encode(errors="surrogatepass"))
        assert status != 500
        return
    answers(stand_in, [1], '"int"', subject=name)
    status, found = page(console, "/schema", subject=name)
    assert status == 200
    assert "<script>alert" not in found
    asked = [target for _, target, _ in stand_in.requests][-1]
    assert asked.count("/") == 4, f"the name is one part of {asked}"


@pytest.mark.parametrize(
    "text",
    [
        SCRIPT,
        json.dumps({"type": "record", "name": "R", "doc": SCRIPT, "fields": []}),
        "[" * 100_000,
        "[" * 900 + "]" * 900,
        "1" * 10_000,
        '"\\ud800"',
        "",
        "\0\x1b[31m",
    ],
    ids=["script", "doc", "too deep", "deep", "long number", "half a character", "empty", "control"],
)
def test_every_schema_has_a_page_whatever_its_text(console: RunningConsole, stand_in: StandIn, text: str) -> None:
    more: dict[str, Any] = {"references": [{"name": SCRIPT, "subject": SCRIPT, "version": 1}], "schemaType": SCRIPT}
    answers(stand_in, [1, 2], '"int"', text, **more)
    status, found = page(console, "/schema", subject="s")
    assert status == 200
    assert "<script>alert" not in found


def test_a_huge_schema_neither_stops_the_console_nor_fills_the_browser(
    console: RunningConsole, stand_in: StandIn
) -> None:
    fields = [{"name": f"f{n}", "type": "string", "doc": "x" * 400} for n in range(12_000)]
    first = json.dumps({"type": "record", "name": "R", "fields": fields})
    second = json.dumps({"type": "record", "name": "R", "fields": fields[::-1]})
    assert len(first) > 5_000_000
    answers(stand_in, [1, 2], first, second)
    status, found = page(console, "/schema", subject="s")
    assert status == 200
    assert len(found) < 1_000_000
    assert "only its beginning is shown" in found
    assert "too long to be compared here" in found
    assert "oncelog schemas diff s:1 s:2" in html.unescape(found)


def test_a_subject_with_many_versions_has_a_page(console: RunningConsole, stand_in: StandIn) -> None:
    answers(stand_in, list(range(1, 20_001)), '"int"')
    status, found = page(console, "/schema", subject="s")
    assert status == 200
    assert len(found) < 1_000_000
    assert found.count("<option") == pages.MAX_VERSIONS
    assert page(console, "/schema", subject="s", version=7)[0] == 200, "an old one is there"


@pytest.mark.parametrize("versions", [[], [0], [True], ["1"], {"a": 1}])
def test_an_invalid_version_shows_an_error_page(console: RunningConsole, stand_in: StandIn, versions: Any) -> None:
    answers(stand_in, versions, '"int"')
    status, found = page(console, "/schema", subject="s")
    assert status in (400, 502)
    assert "as a schema registry" in found or "answers with version" in found or "has no version" in found


def test_a_version_deleted_between_two_requests_is_reported(console: RunningConsole, stand_in: StandIn) -> None:
    def misbehave(target: str) -> Answer:
        if target.endswith("/versions"):
            return ok([1, 2])
        return 404, JSON_ANSWER, json.dumps({"error_code": 40402, "message": "Version 2 not found."}).encode()

    stand_in.misbehave = misbehave
    status, found = page(console, "/schema", subject="s", version=2)
    assert (status, "Version 2 not found" in found) == (404, True)


@pytest.mark.parametrize(
    "answer",
    [(500, {}, b"<script>alert(1)</script>"), (302, {"Location": "javascript:alert(1)"}, b""), (200, {}, b"[")],
)
def test_a_server_that_is_not_a_registry_is_reported(
    console: RunningConsole, stand_in: StandIn, answer: Answer
) -> None:
    stand_in.misbehave = lambda target: answer
    for address in ("/schemas", "/schema"):
        status, found = page(console, address, subject="s")
        assert status == 502
        assert "<script>alert" not in found
        assert 'href="javascript' not in found


def test_pages_that_need_no_registry_load_while_the_registry_hangs(console: RunningConsole, stand_in: StandIn) -> None:
    def hang(target: str) -> Answer:
        time.sleep(2.5)
        return ok([])

    stand_in.misbehave = hang
    status, found = page(console, "/schemas")
    assert status == 502
    assert "no answer within 2 s" in found
    assert page(console, "/topics")[0] == 200
