"""The simulation itself: time, chance, death, power, and what it refuses."""

from __future__ import annotations

import asyncio
import datetime
import gc
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from oncelog.client.aio import Consumer, Producer
from oncelog.client.core.client_errors import KafkaConnectionError
from oncelog.testing.simulation import (
    Nondeterministic,
    NotSimulated,
    Simulation,
    SimulationError,
    SimulationSettings,
    check_deterministic,
    explore,
    simulate,
)
from oncelog.testing.simulation.faults import PlannedFault, full_disk


def test_an_hour_passes_at_once_and_all_clocks_agree() -> None:
    async def main(world: Simulation) -> None:
        begun = time.time(), time.monotonic(), datetime.datetime.now(datetime.UTC), asyncio.get_running_loop().time()
        await asyncio.sleep(3600)
        ended = time.time(), time.monotonic(), datetime.datetime.now(datetime.UTC), asyncio.get_running_loop().time()
        passed = ended[0] - begun[0], ended[1] - begun[1], ended[3] - begun[3]
        assert passed == pytest.approx((3600, 3600, 3600), abs=1e-8)  # timers are rounded to nanoseconds
        assert ended[2] - begun[2] == datetime.timedelta(hours=1)

    simulate(main, limit_s=4000)


def test_randomness_comes_from_the_seed() -> None:
    async def main(world: Simulation) -> tuple[object, ...]:
        return random.random(), os.urandom(8), uuid.uuid4(), world.rng("mine").random()

    assert simulate(main, seed=1) == simulate(main, seed=1)
    assert simulate(main, seed=1) != simulate(main, seed=2)


def test_the_standard_library_is_restored_after_a_simulation() -> None:
    async def main(world: Simulation) -> None:
        await asyncio.sleep(1)

    state, functions = random.getstate(), (time.time, os.urandom, socket.socket, datetime.datetime)
    simulate(main)
    assert random.getstate() == state
    assert functions == (time.time, os.urandom, socket.socket, datetime.datetime)


def test_modules_imported_during_a_simulation_are_real_afterwards() -> None:
    """A module that is first imported inside the simulation keeps the replacements for good."""
    kept: dict[str, Any] = {}

    async def main(world: Simulation) -> None:
        exec("from time import time; from datetime import datetime; from os import urandom", kept)
        exec("from socket import socket; from threading import Thread", kept)
        exec("class Day(datetime): pass", kept)
        exec("class Own(socket): pass", kept)
        assert abs(kept["datetime"].now().timestamp() - kept["time"]()) < 1
        assert type(kept["Day"](2026, 1, 2)) is kept["Day"]

    simulate(main, seed=1)
    assert abs(kept["time"]() - time.time()) < 60
    assert abs(kept["datetime"].now().timestamp() - time.time()) < 60
    assert isinstance(kept["Day"].now(), kept["Day"])
    assert not isinstance(datetime.datetime.now(), kept["Day"])
    for kind in ("socket", "Own"):
        with kept[kind]() as made:
            assert 0 <= made.fileno() < 1_000_000
    began = threading.Event()
    kept["Thread"](target=began.set).start()
    assert began.wait(120)


async def _thread(world: Simulation) -> None:
    threading.Thread(target=int).start()


async def _sleep(world: Simulation) -> None:
    time.sleep(1)


async def _connection(world: Simulation) -> None:
    socket.create_connection(("127.0.0.1", 9092))


async def _program(world: Simulation) -> None:
    await asyncio.create_subprocess_exec("true")


@pytest.mark.parametrize(
    ("main", "what"),
    [(_thread, "a thread"), (_sleep, "time.sleep"), (_connection, "a socket"), (_program, "processes")],
)
def test_a_simulation_refuses_real_resources_and_the_error_names_them(
    main: Callable[[Simulation], Awaitable[None]], what: str
) -> None:
    with pytest.raises(NotSimulated, match=what):
        simulate(main)


def test_a_wait_that_never_ends_is_reported() -> None:
    async def main(world: Simulation) -> None:
        world.broker.crash()
        await asyncio.get_running_loop().create_future()

    with pytest.raises(SimulationError, match="the simulation is stuck"):
        simulate(main)


def test_a_simulation_that_does_not_end_is_reported() -> None:
    async def main(world: Simulation) -> None:
        while True:
            await asyncio.sleep(60)

    with pytest.raises(SimulationError, match="limit_s allows 100"):
        simulate(main, limit_s=100)


def test_a_busy_loop_is_reported() -> None:
    async def main(world: Simulation) -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(SimulationError, match="a busy loop"):
        simulate(main)


def test_a_killed_program_does_nothing_in_a_simulation_until_it_is_started_again() -> None:
    printed: list[str] = []

    async def main(world: Simulation) -> None:
        async def program() -> None:
            try:
                printed.append("begins")
                await asyncio.sleep(10)
                printed.append("ends")
            finally:
                printed.append("finally")

        process = world.process("program", program)
        await asyncio.sleep(5)
        process.kill()
        await asyncio.sleep(100)
        assert printed == ["begins"]
        process.start()
        await asyncio.sleep(100)
        assert printed == ["begins", "begins", "ends", "finally"]

    simulate(main)


def test_a_paused_process_does_nothing_and_continues_afterwards() -> None:
    async def main(world: Simulation) -> None:
        seen: list[float] = []

        async def program() -> None:
            for _ in range(4):
                await asyncio.sleep(1)
                seen.append(world.now_s)

        process = world.process("program", program)
        await asyncio.sleep(1.5)
        process.pause()
        await asyncio.sleep(10)
        assert seen == [pytest.approx(1)] and process.alive
        process.resume()
        await asyncio.sleep(5)
        assert seen == pytest.approx([1, 11.5, 12.5, 13.5])

    simulate(main)


def test_a_process_killed_while_paused_does_not_continue() -> None:
    async def main(world: Simulation) -> None:
        seen: list[float] = []

        async def program() -> None:
            while True:
                await asyncio.sleep(1)
                seen.append(world.now_s)

        process = world.process("program", program)
        await asyncio.sleep(1.5)
        process.pause()
        process.kill()
        process.resume()
        await asyncio.sleep(10)
        assert len(seen) == 1
        process.start()
        await asyncio.sleep(1.5)
        assert len(seen) == 2

    simulate(main)


def test_a_paused_broker_answers_when_it_continues() -> None:
    async def main(world: Simulation) -> None:
        async with Producer(bootstrap_servers=world.bootstrap_servers) as producer:
            await producer.send_and_wait("t", b"before")
            world.broker.pause()
            sent = await producer.send("t", b"after")
            await asyncio.sleep(20)
            assert not sent.done()
            world.broker.resume()
            assert (await sent).offset == 1
        assert world.broker.lives == 1

    simulate(main)


def test_a_sync_takes_time_so_that_power_can_fail_before_it() -> None:
    """The server measures its syncs, and waits for slow ones elsewhere: no answer leaves in the iteration of the
    append."""

    async def main(world: Simulation) -> float:
        world.machine.sync_s = (0.5, 0.5)
        async with Producer(bootstrap_servers=world.bootstrap_servers) as producer:
            for number in range(20):
                begun = world.now_s
                await producer.send_and_wait("t", b"%d" % number)
            return world.now_s - begun

    assert simulate(main) >= 0.5


def test_a_full_disk_refuses_writes_until_space_is_free() -> None:
    async def main(world: Simulation) -> list[bytes | None]:
        async with Producer(bootstrap_servers=world.bootstrap_servers) as producer:
            await producer.send_and_wait("t", b"before")
            world.machine.content.free_bytes = 0
            sent = await producer.send("t", b"after")
            await asyncio.sleep(20)
            assert not sent.done()
            world.machine.content.free_bytes = None
            await sent
        async with Consumer("t", bootstrap_servers=world.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            return [(await consumer.getone()).value for _ in range(2)]

    assert simulate(main) == [b"before", b"after"]


def test_a_full_disk_fault_ends_even_after_a_power_failure() -> None:
    async def main(world: Simulation) -> int:
        undo = full_disk(world, random.Random(0))
        assert undo is not None
        world.broker.crash(power=True)
        undo()
        async with Producer(bootstrap_servers=world.bootstrap_servers) as producer:
            return (await producer.send_and_wait("t", b"after")).offset

    assert simulate(main) == 0


def test_a_simulation_refuses_tls_and_the_error_names_it() -> None:
    async def main(world: Simulation) -> None:
        async with Producer(bootstrap_servers=world.bootstrap_servers, security_protocol="SSL"):
            """Not reached."""

    with pytest.raises(KafkaConnectionError, match="TLS is not simulated: use listeners and clients without it"):
        simulate(main)
    with pytest.raises(NotSimulated, match=r"TLS is not simulated: leave out ssl\.keystore\.location=x"):
        simulate(main, settings={"ssl.keystore.location": "x"})


def test_a_fault_for_several_nodes_is_refused_if_there_is_one_node() -> None:
    async def main(world: Simulation) -> None:
        """Not reached."""

    with pytest.raises(SimulationError, match="the fault 'elect_lagging' needs several nodes, but nodes is 1"):
        simulate(main, faults=["elect_lagging"])


@pytest.mark.parametrize("power", [False, True])
def test_acknowledged_records_survive_a_crash_of_the_broker(power: bool) -> None:
    async def main(world: Simulation) -> list[bytes | None]:
        async with Producer(bootstrap_servers=world.bootstrap_servers) as producer:
            for number in range(5):
                await producer.send_and_wait("t", b"%d" % number)
                world.broker.crash(power=power)
                await asyncio.sleep(3)
                world.broker.start()
        async with Consumer("t", bootstrap_servers=world.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            return [(await consumer.getone()).value for _ in range(5)]

    for seed in range(5):
        assert simulate(main, seed=seed) == [b"0", b"1", b"2", b"3", b"4"]


def test_a_power_failure_loses_unsynced_data() -> None:
    async def main(world: Simulation) -> int:
        async with Producer(bootstrap_servers=world.bootstrap_servers) as producer:
            for number in range(20):
                await producer.send_and_wait("t", b"%d" % number)
            world.broker.crash(power=True)
            world.broker.start()
        async with Consumer("t", bootstrap_servers=world.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            return sum(map(len, (await consumer.getmany(timeout_ms=5000)).values()))

    settings = {"oncelog.flush.policy": "interval", "log.flush.interval.ms": 600_000}
    assert min(simulate(main, seed=seed, settings=settings) for seed in range(5)) < 20


def test_a_partitioned_network_delivers_nothing_until_it_is_healed() -> None:
    async def main(world: Simulation) -> float:
        async with Producer(bootstrap_servers=world.bootstrap_servers) as producer:
            await producer.send_and_wait("t", b"before")
            begun = world.now_s
            world.network.part("main", ("127.0.0.1", 9092))
            sent = await producer.send("t", b"after")
            await asyncio.sleep(20)
            assert not sent.done()
            world.network.heal()
            await sent
            return world.now_s - begun

    assert 20 <= simulate(main) < 25


def test_the_error_names_the_function_that_reads_the_real_clock() -> None:
    """Functions that hold on to the real clock from before the simulation replaced it."""
    real = time.time

    async def main(world: Simulation) -> None:
        world.note(f"it is {real()}")

    with pytest.raises(Nondeterministic, match=r"time\.time at .*test_engine\.py:\d+"):
        check_deterministic(main, 1)


def test_randomness_of_another_thread_does_not_belong_to_the_seed() -> None:
    async def main(world: Simulation) -> None:
        for _ in range(200):
            world.note(f"{random.random()} {random.choice(range(9))}")
            await asyncio.sleep(1)

    over = threading.Event()

    def draw() -> None:
        while not over.is_set():
            random.random()

    beside = threading.Thread(target=draw)
    beside.start()
    try:
        check_deterministic(main, 1)
    finally:
        over.set()
        beside.join()


def test_garbage_collection_of_other_objects_is_not_reported() -> None:
    def looks_at_the_clock(*_: object) -> None:
        real()

    async def main(world: Simulation) -> None:
        gc.collect()
        kept.append(object())
        world.note(f"{kept[-1]!r}")

    real, kept = time.perf_counter, list[object]()
    gc.callbacks.append(looks_at_the_clock)
    try:
        with pytest.raises(Nondeterministic) as found:
            check_deterministic(main, 1)
    finally:
        gc.callbacks.remove(looks_at_the_clock)
    assert "time.perf_counter" not in str(found.value)


def test_code_that_depends_on_the_order_of_addresses_is_found() -> None:
    async def main(world: Simulation) -> None:
        kept.append(object())
        world.note(f"{[object() for _ in range(3)]} {asyncio.current_task()!r} {kept[-1]!r}")

    kept: list[object] = []
    with pytest.raises(Nondeterministic, match="look for the order of a set"):
        check_deterministic(main, 1)


def test_a_failure_is_shrunk_to_the_faults_that_cause_it() -> None:
    async def main(world: Simulation) -> None:
        await world.calm()
        killed = [found for found in world.timeline.entries if found.what == "the broker is killed"]
        if world.broker.lives > 1:
            raise RuntimeError(f"the broker died {len(killed)} times")

    setting = SimulationSettings(faults=["kill_broker", "slow_network", "cut_connection"], calm_s=20)
    failure = explore(main, range(50), setting)
    assert failure is not None
    assert [fault.kind for fault in failure.faults] == ["kill_broker"]
    again = SimulationSettings(faults=failure.faults, calm_s=20)
    assert str(explore(main, [failure.seed], again)) == str(failure)


def _at_once(number: int) -> bool:
    """Whether a fault with this number happens now rather than with a later message."""
    chance = random.Random(number)
    chance.expovariate(1.0)
    return chance.random() < 0.25


@pytest.mark.parametrize("other", ["kill_broker", "power_loss"])
def test_an_operator_does_not_stop_a_broker_that_died_in_the_same_moment(other: str) -> None:
    number = next(filter(_at_once, range(100)))

    async def main(world: Simulation) -> tuple[int, list[dict[str, Any]]]:
        await world.calm()
        await asyncio.sleep(1)
        gc.collect()
        return world.broker.lives, world.loop.failures

    faults = [PlannedFault(1.0, kind, 5.0, number) for kind in ("restart_broker", other)]
    assert simulate(main, faults=faults, calm_s=20) == (2, [])


def test_an_unknown_fault_is_refused_and_the_error_names_it() -> None:
    async def main(world: Simulation) -> None:
        """Nothing."""

    for given in ("kill_borker", PlannedFault(1.0, "kill_borker", 1.0, 1)):
        with pytest.raises(
            SimulationError, match=r"no fault 'kill_borker'; did you mean kill_broker\?; there are crash"
        ):
            simulate(main, faults=[given])


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"nodes": 0}, "nodes=0: a simulated broker has from 1 to 9 nodes"),
        ({"nodes": "3"}, "nodes='3'"),
        ({"limit_s": 0}, "limit_s must be a number of simulated seconds above 0, not 0"),
        ({"calm_s": float("nan")}, "calm_s must be a number of simulated seconds above 0, not nan"),
        ({"faults": "kill_broker"}, r"faults must be a list, such as \['kill_broker'\]"),
        ({"faults": [5]}, "there is no fault 5; there are"),
        ({"faults": [PlannedFault(60.0, "kill_broker", 1.0, 1)]}, "a fault must begin between 0 and calm_s=60"),
        ({"faults": [PlannedFault(1.0, "kill_broker", -1.0, 1)]}, "and last 0 seconds or more"),
        ({"seed": 1.5}, "a seed must be a whole number, not 1.5"),
    ],
    ids=str,
)
def test_a_simulation_refuses_an_unsupported_call_and_the_error_names_it(given: dict[str, Any], reported: str) -> None:
    async def main(world: Simulation) -> None:
        """Not reached."""

    with pytest.raises(SimulationError, match=reported):
        simulate(main, **given)
