"""Whatever happens to the service, each order is billed once: in the ledger, and in the topic of invoices."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import defaultdict
from contextlib import closing

import billing
import pytest

from oncelog import NewTopic
from oncelog.client.aio import Admin, Consumer, Producer
from oncelog.testing.simulation import Simulation

ORDERS = [(name, amount) for amount in range(1, 11) for name in ("ada", "bob")]
billing.LOCK_S = 0.0  # in one thread a statement that waits for a lock would never get it
FAULTS = ["kill_program", "pause_program", "double_program", "kill_broker", "cut_before_answer", "lose_answers"]


@pytest.mark.oncelog_simulation(seeds=200, faults=FAULTS, calm_s=30)
async def test_each_order_is_billed_once(oncelog_simulation: Simulation) -> None:
    world = oncelog_simulation
    servers, path = world.bootstrap_servers, world.folder / "ledger.db"
    async with Admin(bootstrap_servers=servers) as admin:
        await admin.create_topics([NewTopic(name, 1, 1) for name in (billing.ORDERS, billing.INVOICES)])
    for work in (billing.bill, billing.relay):
        world.process(work.__name__, lambda work=work: billing.forever(work, servers, path))
    async with Producer(bootstrap_servers=servers) as customers:
        for name, amount in ORDERS:
            await customers.send_and_wait(billing.ORDERS, f"{name}:{amount}".encode(), key=name.encode())
            await asyncio.sleep(1)
    await world.calm()
    await asyncio.sleep(120)  # simulated seconds: enough for whatever is still under way
    found = await invoices(servers)
    for name in ("ada", "bob"):
        assert found[name] == [f"{name} owes {sum(range(1, n + 1))}" for n in range(1, 11)]
    with closing(sqlite3.connect(path)) as ledger:
        assert ledger.execute("SELECT * FROM ledger ORDER BY customer").fetchall() == [("ada", 55), ("bob", 55)]


async def invoices(servers: str) -> dict[str, list[str]]:
    """For each customer what a reader of committed records gets, in its order."""
    found: dict[str, list[str]] = defaultdict(list)
    async with Consumer(
        billing.INVOICES, bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        for records in (await consumer.getmany(timeout_ms=5000)).values():
            for record in records:
                found[(record.key or b"").decode()].append((record.value or b"").decode())
    return found
