"""Visitors of a cluster that requires a login: they log in with their own credentials and have their own rights."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import oncelog
from oncelog.apps.console import sessions
from oncelog.apps.console.console_settings import ConsoleSettings
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.errors import ConfigError
from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType, Permission
from tests.integration.security.sides import COMMON, PASSWORD
from tests.support.running_console import RunningConsole

LISTEN = "PLAINTEXT://127.0.0.1:0,CLIENTS://127.0.0.1:0"


@pytest.fixture(scope="module")
def guarded() -> Iterator[oncelog.Broker]:
    """Everybody is a super user on the first listener; the second one requires a login."""
    protocols = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT"}
    with oncelog.Broker(listen=LISTEN, settings={**COMMON, **protocols}) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers.split(",")[0]) as admin:
            admin.create_topics([NewTopic("hers", 1), NewTopic("secret-topic", 1)])
            admin.create_acls([
                Acl(AclResourceType.TOPIC, "hers", PatternType.LITERAL, "User:alice", "*", operation, Permission.ALLOW)
                for operation in (Operation.READ, Operation.DESCRIBE)
            ])  # fmt: skip
        yield broker


@pytest.fixture(scope="module")
def console(guarded: oncelog.Broker) -> Iterator[RunningConsole]:
    properties = {
        "bootstrap.servers": str(guarded.addresses["CLIENTS"]),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
    }
    with RunningConsole(properties) as running:
        yield running


def log_in(page: Page, user: str, password: str = PASSWORD) -> None:
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_a_visitor_logs_in_sees_what_their_acls_allow_and_logs_out(
    page: Page, context: BrowserContext, console: RunningConsole
) -> None:
    page.goto(f"{console.url}/records?topic=hers&partition=0")
    assert "/login" in page.url
    log_in(page, "alice", "wrong")
    expect(page.get_by_role("alert")).to_have_text("The broker refused this user or password.")
    assert "wrong" not in page.content()
    before = {cookie["value"] for cookie in context.cookies()}
    log_in(page, "alice")
    expect(page.get_by_role("heading", name="hers")).to_be_visible()  # where she wanted to go
    assert before.isdisjoint({cookie["value"] for cookie in context.cookies()}), "a login is a new session"
    assert PASSWORD not in page.content()
    page.goto(f"{console.url}/topics")
    expect(page.locator("#live")).to_contain_text("hers")
    expect(page.locator("#live")).not_to_contain_text("secret-topic")
    answer = page.goto(f"{console.url}/records?topic=secret-topic")
    assert answer is not None
    assert answer.status in (403, 404)
    expect(page.get_by_role("alert")).to_be_visible()
    page.goto(f"{console.url}/acls")
    expect(page.get_by_role("heading", name="Not allowed")).to_be_visible()
    page.goto(f"{console.url}/topic/create")
    page.get_by_label("Name", exact=True).fill("of-alice")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_contain_text("AUTHORIZATION_FAILED")
    page.get_by_role("button", name="Log out alice").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.goto(f"{console.url}/topics")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_visitors_do_not_share_a_login(browser: Browser, console: RunningConsole) -> None:
    with browser.new_context() as alice, browser.new_context() as bob:
        hers, his = alice.new_page(), bob.new_page()
        for page, user in ((hers, "alice"), (his, "bob")):
            page.goto(f"{console.url}/topics")
            log_in(page, user)
            expect(page.get_by_role("heading", name="Topics")).to_be_visible()
        expect(hers.locator("#live")).to_contain_text("hers")
        expect(his.locator("#live")).to_contain_text("0 of 0 topics")


@pytest.mark.parametrize("target", ["//evil.example/x", "https://evil.example/", "/\\evil.example", "javascript:1"])
def test_a_login_never_redirects_to_another_site(page: Page, console: RunningConsole, target: str) -> None:
    page.goto(f"{console.url}/login?{urlencode({'next': target})}")
    log_in(page, "alice")
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    assert page.url.startswith(console.url)


def test_acls_are_added_and_removed(page: Page, guarded: oncelog.Broker) -> None:
    with RunningConsole({"bootstrap.servers": str(guarded.addresses["PLAINTEXT"])}) as console:
        page.goto(f"{console.url}/acls")
        expect(page.locator("tbody")).to_contain_text("User:alice")
        page.get_by_role("link", name="New ACL").click()
        page.get_by_label("Principal").fill("carol")
        page.get_by_label("Name (* for all)").fill("orders-")
        page.get_by_role("button", name="Add ACL").click()
        expect(page.get_by_role("alert")).to_contain_text("User:NAME")
        page.get_by_label("Principal").fill("User:carol")
        page.get_by_label("Name pattern").select_option("PREFIXED")
        page.get_by_label("Permission").select_option("DENY")
        page.get_by_role("button", name="Add ACL").click()
        row = page.locator("tbody tr")
        expect(row).to_have_count(1)  # the list shows the principal's
        expect(row).to_contain_text("may not")
        expect(row).to_contain_text("orders-")
        row.get_by_role("link", name="remove").click()
        page.get_by_role("button", name="Remove ACL").click()
        expect(page.get_by_role("status").first).to_have_text("The ACL was removed.")
        expect(page.locator("tbody")).not_to_contain_text("User:carol")


def test_the_consoles_own_credentials_are_not_lent_to_visitors_by_default() -> None:
    oauth = {"bootstrap.servers": "h:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    with pytest.raises(ConfigError, match="--shared-login"):
        ConsoleSettings(oauth)
    certificate = {"bootstrap.servers": "h:1", "security.protocol": "SSL", "ssl.keystore.location": "k.pem"}
    with pytest.raises(ConfigError, match="--shared-login"):
        ConsoleSettings(certificate)
    assert not ConsoleSettings(oauth, shared_login=True).asks_for_login


def test_visitors_do_not_get_the_credentials_of_a_properties_file() -> None:
    given = {
        "bootstrap.servers": "h:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
        "sasl.username": "admin", "sasl.password": "x",
    }  # fmt: skip
    settings = ConsoleSettings(given)
    assert settings.asks_for_login
    config = settings.admin_config("alice", "y")
    assert (config.sasl_plain_username, config.sasl_plain_password) == ("alice", "y")


def test_a_page_of_an_ended_session_redirects_to_the_login_and_back(
    page: Page, console: RunningConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.goto(f"{console.url}/topics?q=hers")
    log_in(page, "alice")
    expect(page.locator("#live")).to_contain_text("hers")
    with monkeypatch.context() as patch:
        patch.setattr(sessions, "IDLE_SECONDS", -1.0)  # every session is over as soon as it is looked for
        expect(page.get_by_role("button", name="Log in")).to_be_visible()
        assert page.url.endswith("/login?next=%2Ftopics%3Fq%3Dhers")
    page.reload()
    log_in(page, "alice")
    expect(page.locator("#live")).to_contain_text("hers")
    assert page.url.endswith("/topics?q=hers")


def test_a_form_of_an_ended_session_changes_nothing(
    page: Page, console: RunningConsole, guarded: oncelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.goto(f"{console.url}/topic/create")
    log_in(page, "alice")
    page.get_by_label("Name", exact=True).fill("too-late")
    with monkeypatch.context() as patch:
        patch.setattr(sessions, "IDLE_SECONDS", -1.0)
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("button", name="Log in")).to_be_visible()
    with Admin(bootstrap_servers=guarded.bootstrap_servers.split(",")[0]) as admin:
        assert "too-late" not in admin.list_topics()
