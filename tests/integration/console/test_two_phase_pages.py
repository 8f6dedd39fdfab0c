"""What the console says about transactions that a database decides, also before somebody ends one by force."""

from __future__ import annotations

from oncelog import Broker, Producer
from tests.integration.console.test_guard import ask
from tests.support.running_console import RunningConsole


def test_transactions_in_two_phase_commit_are_marked(unique_name: str) -> None:
    with Broker(settings={"transaction.two.phase.commit.enable": True}) as broker:
        servers = broker.bootstrap_servers
        with Producer(bootstrap_servers=servers, transactional_id=unique_name, two_phase_commit=True) as producer:
            producer.begin_transaction()
            producer.send(unique_name, b"prepared")
            producer.prepare()
        with RunningConsole({"bootstrap.servers": servers}) as console:
            pages = {
                path: ask(console, "GET", path)
                for path in ("/transactions", f"/transaction?id={unique_name}", f"/transaction/end?id={unique_name}")
            }
    listed, one, end = pages.values()
    assert "a database decides its outcome, so it has no timeout" in listed.text
    assert "none (two-phase commit)" in one.text
    assert "may already have committed its part" in end.text
    assert "the coordinator aborts it by itself" not in end.text
