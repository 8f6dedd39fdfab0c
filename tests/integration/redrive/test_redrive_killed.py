"""A redrive that is killed (SIGKILL) at any step and run again: each dead letter is back once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys

import pytest

from oncelog.apps.redrive.redriving import group_of
from oncelog.client.aio import Admin
from tests.conftest import RunningBroker
from tests.integration.redrive.test_redrive import World
from tests.support.both_brokers import KAFKA_IN_SOAK

KILLED = """
import asyncio, os, signal, sys
from oncelog.cli.main import main
from oncelog.client.aio import Producer

method, when, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
original = getattr(Producer, method)
calls = 0

async def call(*arguments, **named):
    global calls
    calls += 1
    if calls < number:
        return await original(*arguments, **named)
    if when == "after":
        await original(*arguments, **named)
    elif when == "amid":
        await asyncio.wait({asyncio.ensure_future(original(*arguments, **named))}, timeout=0.002)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(Producer, method, call)
main(sys.argv[4:])
"""
STEPS = [
    ("start", "after", 1),
    ("begin_transaction", "after", 1),
    ("begin_transaction", "after", 2),
    ("send", "after", 1),
    ("send", "after", 12),
    ("send_offsets_to_transaction", "before", 2),
    ("send_offsets_to_transaction", "amid", 1),
    ("send_offsets_to_transaction", "after", 2),
    ("commit_transaction", "before", 2),
    ("commit_transaction", "amid", 1),
    ("commit_transaction", "amid", 3),
    ("commit_transaction", "after", 1),
    ("commit_transaction", "after", 3),
]


def killed(world: World, step: tuple[str, str, int]) -> None:
    command = [sys.executable, "-c", KILLED, *map(str, step), "redrive", world.dead, "-b", world.address]
    ended = subprocess.run([*command, "--transaction-size", "5"], capture_output=True, timeout=300, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


@pytest.mark.soak  # the next one has each kill, one after another
@pytest.mark.parametrize("step", STEPS, ids=lambda step: "-".join(map(str, step)))
def test_each_dead_letter_is_sent_back_once_after_a_kill(
    broker: RunningBroker, unique_name: str, step: tuple[str, str, int]
) -> None:
    world = World(broker, unique_name)
    asyncio.run(world.fill(20))
    killed(world, step)
    world.redrive("--transaction-size", "5").done()
    assert world.values(world.origin) == list(range(20))
    assert world.redrive().done().err == "0 dead letters sent back\n"


@KAFKA_IN_SOAK
def test_each_dead_letter_is_sent_back_once_after_all_kills(broker: RunningBroker, unique_name: str) -> None:
    world = World(broker, unique_name)
    asyncio.run(world.fill(120))
    for step in STEPS:
        killed(world, step)
        seen = world.values(world.origin)
        assert len(seen) == len(set(seen))
    world.redrive().done()
    assert world.values(world.origin) == list(range(120))


def test_a_second_redrive_of_the_same_name_stops_the_first(broker: RunningBroker, unique_name: str) -> None:
    """The first waits, in its second transaction, until the other has sent everything."""
    world = World(broker, unique_name)
    asyncio.run(world.fill(20))
    program = KILLED.replace("os.kill(os.getpid(), signal.SIGKILL)", "print('there', flush=True); sys.stdin.readline()")
    command = [sys.executable, "-c", program, "begin_transaction", "after", "2", "redrive", world.dead]
    with subprocess.Popen(
        [*command, "-b", world.address, "--transaction-size", "5"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as first:  # fmt: skip
        assert first.stdout is not None
        assert first.stdout.readline() == "there\n"
        world.redrive().done()
        _, printed = first.communicate("go on\n", timeout=300)
    assert first.returncode == 1
    assert "Another redrive of group" in printed
    assert world.values(world.origin) == list(range(20))

    async def positions() -> int:
        async with Admin(bootstrap_servers=world.address) as admin:
            return sum(
                one.offset
                for one in (await admin.list_consumer_group_offsets(group_of(world.dead, "default"))).values()
            )

    assert asyncio.run(positions()) == 20
