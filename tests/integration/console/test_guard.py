"""What protects a visitor and the cluster: hosts, forms, cookies, headers, the token, and read-only access."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.errors import ConfigError
from oncelog.spark.reporting import ConsoleReporter
from tests.conftest import RunningBroker
from tests.support.running_console import TOKEN, RunningConsole


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str


def ask(
    console: RunningConsole, method: str, path: str, body: str | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    connection = http.client.HTTPConnection(urlsplit(console.url).netloc, timeout=60)
    given = {"Content-Type": "application/x-www-form-urlencoded"} if body is not None else {}
    connection.request(method, path, body, {**given, **(headers or {})})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)


def visit(console: RunningConsole) -> tuple[str, str]:
    """A cookie, and the secret that its forms carry."""
    first = ask(console, "GET", "/topic/create")
    found = re.search(r'name="csrf" value="([^"]+)"', first.text)
    assert found
    return first.headers["set-cookie"].split(";")[0], found[1]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "",
        "[::1",
        "localhost:x",
        "127.0.0.1:99999",
        "localhost:80@evil.example",
        "[fe80::1%evil]",
    ],
)
def test_an_unknown_host_name_is_refused(oncelog_console: RunningConsole, host: str) -> None:
    answer = ask(oncelog_console, "GET", "/topics", headers={"Host": host})
    assert answer.status in (400, 421)
    assert "--allow-host" in answer.text or answer.status == 400


def test_addresses_localhost_and_allowed_host_names_are_served(oncelog_broker: RunningBroker) -> None:
    properties = {"bootstrap.servers": oncelog_broker.bootstrap_servers}
    with RunningConsole(properties, hosts=frozenset({"console.example"})) as console:
        for host in ("127.0.0.1", "localhost:8080", "[::1]:80", "10.1.2.3", "console.example", "CONSOLE.example:443"):
            assert ask(console, "GET", "/topics", headers={"Host": host}).status == 200, host


def test_every_answer_forbids_scripts_that_are_not_the_consoles_own(oncelog_console: RunningConsole) -> None:
    for path in ("/topics", "/static/console.js", "/nothing-here", "/topic?name=nope"):
        headers = ask(oncelog_console, "GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert ask(oncelog_console, "GET", "/topics").headers["cache-control"] == "no-store"
    assert "max-age" in ask(oncelog_console, "GET", "/static/console.css").headers["cache-control"]
    assert ask(oncelog_console, "GET", "/static/gone.css").headers["cache-control"] == "no-store"


def test_the_cookie_is_same_site_and_hidden_from_scripts(oncelog_console: RunningConsole) -> None:
    cookie = ask(oncelog_console, "GET", "/topics").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_a_form_needs_its_csrf_token_its_session_and_its_own_origin(
    oncelog_console: RunningConsole, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    cookie, secret = visit(oncelog_console)
    _, foreign = visit(oncelog_console)
    body = {"name": unique_name, "partitions": "1"}
    own = {"Cookie": cookie}
    refused = [
        ask(oncelog_console, "POST", "/topic/create", urlencode(body), own),
        ask(oncelog_console, "POST", "/topic/create", urlencode({**body, "csrf": "x"}), own),
        ask(oncelog_console, "POST", "/topic/create", urlencode({**body, "csrf": foreign}), own),
        ask(oncelog_console, "POST", "/topic/create", urlencode({**body, "csrf": secret})),
        ask(oncelog_console, "POST", "/topic/create", urlencode({**body, "csrf": secret}),
            {**own, "Origin": "http://evil.example"}),
        ask(oncelog_console, "POST", "/topic/create", urlencode({**body, "csrf": secret}), {**own, "Origin": "null"}),
        ask(oncelog_console, "POST", "/topic/create", json.dumps({**body, "csrf": secret}),
            {**own, "Content-Type": "text/plain"}),
    ]  # fmt: skip
    assert [answer.status for answer in refused] == [403] * len(refused)
    with Admin(bootstrap_servers=oncelog_broker.bootstrap_servers) as admin:
        assert unique_name not in admin.list_topics()
        done = ask(oncelog_console, "POST", "/topic/create", urlencode({**body, "csrf": secret}), own)
        assert done.status == 303
        assert unique_name in admin.list_topics()


def test_a_get_request_never_submits_a_form(oncelog_console: RunningConsole, unique_name: str) -> None:
    cookie, secret = visit(oncelog_console)
    query = urlencode({"name": unique_name, "csrf": secret})
    for path in ("/acl/remove", "/topic/delete", "/group/delete", "/setting", "/redrive", "/transaction/end-hanging"):
        assert ask(oncelog_console, "GET", f"{path}?{query}", headers={"Cookie": cookie}).status in (200, 400, 404, 405)


def test_a_blank_name_is_refused_with_a_message_at_the_form(oncelog_console: RunningConsole) -> None:
    """The browser takes it for filled in; it ended in a bare internal error."""
    cookie, secret = visit(oncelog_console)
    body = urlencode({"name": "  ", "csrf": secret})
    answer = ask(oncelog_console, "POST", "/topic/create", body, headers={"Cookie": cookie})
    assert answer.status == 400
    assert "a topic needs a name" in answer.text


def test_a_read_only_console_changes_nothing(oncelog_broker: RunningBroker, unique_name: str) -> None:
    with (
        Admin(bootstrap_servers=oncelog_broker.bootstrap_servers) as admin,
        RunningConsole({"bootstrap.servers": oncelog_broker.bootstrap_servers}, allow_changes=False) as console,
    ):
        admin.create_topics([NewTopic(unique_name, 1)])
        topic_page = ask(console, "GET", f"/topic?name={unique_name}").text
        assert "read-only" in topic_page
        assert "/topic/delete" not in topic_page
        first = ask(console, "GET", f"/records?topic={unique_name}")
        found = re.search(r'name="csrf" value="([^"]+)"', first.text)
        assert found
        cookie = {"Cookie": first.headers["set-cookie"].split(";")[0]}
        for path in ("/topic/create", "/topic/delete", "/redrive", "/topic/partitions", "/setting", "/group/reset",
                     "/group/delete", "/transaction/end", "/transaction/end-hanging", "/acl/add",
                     "/acl/remove"):  # fmt: skip
            body = urlencode({"csrf": found[1], "name": unique_name, "again": unique_name})
            answer = ask(console, "POST", path, body, cookie)
            assert answer.status == 403, path
            assert "--allow-changes" in answer.text
        assert unique_name in admin.list_topics()


def test_a_body_that_is_too_large_is_refused(oncelog_console: RunningConsole) -> None:
    cookie, secret = visit(oncelog_console)
    body = urlencode({"csrf": secret, "name": "x" * 600_000})
    assert ask(oncelog_console, "POST", "/topic/create", body, {"Cookie": cookie}).status == 413


def test_reports_need_the_token_and_valid_content(oncelog_console: RunningConsole) -> None:
    good = {"session": "s", "pipeline": "p", "state": "running"}

    def report(body: str, token: str = TOKEN) -> int:
        return ask(oncelog_console, "POST", "/api/pipelines", body, {"Authorization": f"Bearer {token}"}).status

    assert report(json.dumps(good), "wrong") == 401
    assert ask(oncelog_console, "POST", "/api/pipelines", json.dumps(good)).status == 401
    assert report(json.dumps(good)) == 204
    bad = ["{", "[]", "null", "1", json.dumps({**good, "state": "odd"}), json.dumps({**good, "session": 5}),
           json.dumps({**good, "progress": [1]}), "[" * 5000]  # fmt: skip
    assert [report(body) for body in bad] == [400] * len(bad)
    with pytest.raises(ConfigError, match="token"):
        ConsoleReporter(oncelog_console.url, "")


def test_no_page_shows_the_token(oncelog_console: RunningConsole) -> None:
    for path in ("/pipelines", "/topics", "/brokers", "/broker?id=1", "/nope"):
        assert TOKEN not in ask(oncelog_console, "GET", path).text


def test_a_lone_surrogate_does_not_break_a_page(
    oncelog_console: RunningConsole, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    servers = oncelog_broker.bootstrap_servers
    with Admin(bootstrap_servers=servers) as admin, Producer(bootstrap_servers=servers) as producer:
        admin.create_topics([NewTopic(unique_name, 1)])
        producer.send_and_wait(unique_name, rb'{"a": "\ud800"}', partition=0)
    reported = {"session": "s", "pipeline": f"{unique_name}\ud800", "progress": {"rows_per_second": 10**400}}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert ask(oncelog_console, "POST", "/api/pipelines", json.dumps(reported), headers).status == 204
    for path in (f"/records?topic={unique_name}", f"/record?topic={unique_name}&partition=0", "/pipelines"):
        answer = ask(oncelog_console, "GET", path)
        assert (answer.status, "\\ud800" in answer.text) == (200, True), path


def test_huge_numbers_are_refused_with_an_explanation(oncelog_console: RunningConsole) -> None:
    cookie, csrf = visit(oncelog_console)
    assert ask(oncelog_console, "GET", f"/broker?id={'9' * 5000}").status == 400
    for path, form in (
        ("/topic/create", {"name": "n", "partitions": "9" * 5000}),
        ("/group/reset", {"name": "n", "move": f"t:0:{'9' * 30}"}),
    ):
        answer = ask(oncelog_console, "POST", path, urlencode({**form, "csrf": csrf}), {"Cookie": cookie})
        assert answer.status == 400, path


def test_a_session_keeps_a_limited_number_of_schemas(oncelog_console: RunningConsole) -> None:
    cookie, csrf = visit(oncelog_console)

    def give(topic: str, schema: str) -> int:
        form = urlencode({"topic": topic, "schema": schema, "csrf": csrf})
        return ask(oncelog_console, "POST", "/records/schema", form, {"Cookie": cookie}).status

    assert [give(f"t{i}", '"int"') for i in range(30)] == [303] * 30
    assert give("t", json.dumps({"type": "string", "doc": "x" * 200_000})) == 400
    assert give("t" * 250, '"int"') == 400


def test_live_tails_end_with_their_session_and_are_limited_in_number(
    oncelog_console: RunningConsole, oncelog_broker: RunningBroker, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Admin(bootstrap_servers=oncelog_broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1)])
    cookie, csrf = visit(oncelog_console)
    monkeypatch.setattr("oncelog.apps.console.pages.records.MAX_TAILS", 1)
    connection = http.client.HTTPConnection(urlsplit(oncelog_console.url).netloc, timeout=60)
    connection.request("GET", f"/records/live?topic={unique_name}", headers={"Cookie": cookie})
    tail = connection.getresponse()
    assert tail.readline() == b"retry: 2000\n"
    refused = ask(oncelog_console, "GET", f"/records/live?topic={unique_name}")
    assert refused.status == 400 and "live tails" in refused.text
    assert ask(oncelog_console, "POST", "/logout", urlencode({"csrf": csrf}), {"Cookie": cookie}).status == 303
    assert tail.read() is not None  # to its end
    connection.close()
