"""A visitor who has logged in sends dead letters back, and the console is killed (SIGKILL) amid that."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, RemoteDisconnected
from types import SimpleNamespace
from urllib.parse import urlencode, urlsplit

import pytest

import oncelog
from oncelog.apps.redrive.redriving import group_of
from oncelog.client.blocking import Admin
from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType, Permission
from tests.integration.console.test_login import LISTEN
from tests.integration.redrive.test_redrive import World
from tests.integration.redrive.test_redrive_killed import KILLED
from tests.integration.security.sides import COMMON, PASSWORD

SLOWER = "import oncelog.apps.console.pages.redrive as pages\npages.TRANSACTION_SIZE = 5\n"
DEAD_LETTERS = 20


@pytest.fixture(scope="module")
def places() -> Iterator[tuple[World, str]]:
    """The dead letters, and where visitors log in; Alice has the rights that the page on dead letters names."""
    protocols = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT"}
    with oncelog.Broker(listen=LISTEN, settings={**COMMON, **protocols}) as broker:
        open_to_all = SimpleNamespace(bootstrap_servers=str(broker.addresses["PLAINTEXT"]))
        world = World(open_to_all, "letters")
        asyncio.run(world.fill(DEAD_LETTERS))
        group = group_of(world.dead, "default")
        rights = [
            (AclResourceType.TOPIC, world.dead, Operation.READ),
            (AclResourceType.TOPIC, world.origin, Operation.WRITE),
            (AclResourceType.GROUP, group, Operation.READ),
            (AclResourceType.TRANSACTIONAL_ID, group, Operation.WRITE),
        ]
        with Admin(bootstrap_servers=world.address) as admin:
            admin.create_acls([
                Acl(kind, name, PatternType.LITERAL, "User:alice", "*", operation, Permission.ALLOW)
                for kind, name, operation in rights
            ])  # fmt: skip
        yield world, str(broker.addresses["CLIENTS"])


class Visitor:
    """Alice at a console of her own process, which dies at a step."""

    def __init__(self, address: str, step: tuple[str, str, int]) -> None:
        given = {"bootstrap.servers": address, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        settings = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
        command = [sys.executable, "-c", SLOWER + KILLED, *map(str, step), "console", "--json"]
        self.process = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0", "--allow-changes", "--with-parent", *settings],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self._host = urlsplit(json.loads(self.process.stdout.readline())["console"]).netloc
        self._cookie = ""
        self._secret = self._read("GET", "/login")
        self._read("POST", "/login", {"user": "alice", "password": PASSWORD})

    def _read(self, method: str, path: str, form: dict[str, str] | None = None) -> str:
        """The page's text; for a form, that of the page it leads to; for the login form, its secret."""
        connection = HTTPConnection(self._host, timeout=120)
        body = None if form is None else urlencode({**form, "csrf": self._secret})
        headers = {"Cookie": self._cookie, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        self._cookie = (answer.getheader("set-cookie") or self._cookie).partition(";")[0]
        if answer.status == 303:
            return self._read("GET", answer.getheader("location") or "")
        assert answer.status == 200, text
        found = re.search(r'name="csrf" value="([^"]+)"', text)
        self._secret = found[1] if found else ""
        return self._secret if path == "/login" else text

    def send_back(self, dead: str) -> str:
        shown = self._read("GET", f"/redrive?{urlencode({'topic': dead})}")
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', shown))
        return self._read("POST", "/redrive", fields)

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)


@pytest.mark.soak
def test_dead_letters_of_a_killed_console_are_sent_back_once(places: tuple[World, str]) -> None:
    world, address = places
    steps = [
        ("send_offsets_to_transaction", "after", 2),
        ("commit_transaction", "amid", 1),
        ("commit_transaction", "after", 1),
    ]
    for step in steps:
        visitor = Visitor(address, step)
        with pytest.raises((RemoteDisconnected, ConnectionResetError)):
            visitor.send_back(world.dead)
        assert visitor.end() == -signal.SIGKILL
    visitor = Visitor(address, ("start", "after", 1_000_000))
    assert "dead letters were sent back" in visitor.send_back(world.dead)
    visitor.end()
    assert world.values(world.origin) == list(range(DEAD_LETTERS))
