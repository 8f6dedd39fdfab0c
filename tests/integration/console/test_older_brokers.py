"""Pages about a cluster that cannot be asked for its transactions: Apache Kafka before 3.0."""

from __future__ import annotations

import oncelog
from oncelog.client.core.admin.admin_types import NewTopic
from tests.integration.console.test_guard import ask
from tests.support.older_broker import older_broker
from tests.support.running_console import RunningConsole


def test_records_and_producers_are_shown_without_transactional_ids() -> None:
    with older_broker() as broker:
        servers = broker.bootstrap_servers
        with oncelog.Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic("orders", num_partitions=1)])
        with (
            oncelog.Producer(bootstrap_servers=servers, transactional_id="load-1") as producer,
            producer.transaction(),
        ):
            producer.send("orders", b"one")
        with RunningConsole({"bootstrap.servers": servers}) as console:
            records = ask(console, "GET", "/records?topic=orders&partition=0")
            producers = ask(console, "GET", "/producers?topic=orders&partition=0")
            transactions = ask(console, "GET", "/transactions")
    assert (records.status, producers.status) == (200, 200)
    assert "one" in records.text and "committed" in records.text
    assert "load-1" not in records.text + producers.text
    assert "does not offer ListTransactions" in transactions.text and "since 3.0" in transactions.text
