"""The end of an embedded broker: asked for by several, from a signal handler, interrupted, in a forked process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import oncelog
from oncelog.broker.server.disk.folder_lock import FolderLock
from oncelog.broker.server.nodes import Nodes
from oncelog.broker.server.server import Server
from oncelog.errors import OncelogError


@pytest.fixture
def goes_on(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A stop of a broker does not end before this is set."""
    may_end, real = threading.Event(), Server.stop

    async def stop(server: Server) -> None:
        while not may_end.is_set():
            await asyncio.sleep(0.001)
        await real(server)

    monkeypatch.setattr(Server, "stop", stop)
    return may_end


def test_a_second_stop_waits_for_the_first(tmp_path: Path, goes_on: threading.Event) -> None:
    broker = oncelog.Broker(tmp_path).start()
    stopping = [threading.Thread(target=broker.stop, daemon=True) for _ in range(3)]
    for thread in stopping:
        thread.start()
    goes_on.set()
    for thread in stopping:
        thread.join(20)
    assert not any(thread.is_alive() for thread in stopping)
    FolderLock(tmp_path).release()  # the broker has let go of it
    with broker:
        assert broker.is_running


def test_a_caller_that_waits_for_work_on_the_brokers_thread_gets_an_error_when_the_thread_has_stopped() -> None:
    asked, heard = threading.Event(), list[str]()

    async def forever(_: Nodes) -> None:
        asked.set()
        await asyncio.Event().wait()

    def ask() -> None:
        with pytest.raises(OncelogError, match="the broker is not running") as refused:
            broker.run_nodes(forever)
        heard.append(str(refused.value))

    with oncelog.Broker() as broker:
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        assert asked.wait(60)
    asking.join(20)
    assert heard


def test_the_brokers_own_thread_cannot_wait_for_itself() -> None:
    with oncelog.Broker() as broker:
        for call in (broker.stop, lambda: broker.on_loop(lambda _: None)):
            with pytest.raises(OncelogError, match="own thread cannot wait"):
                broker.on_loop(lambda _, call=call: call())  # type: ignore[misc]
        broker.on_loop(lambda _: None)  # it has gone on


def test_a_second_start_is_refused_and_does_not_end_the_first() -> None:
    with oncelog.Broker() as broker:
        with pytest.raises(OncelogError, match="running already"):
            broker.start()
        assert broker.is_running
        broker.on_loop(lambda _: None)


BEGIN = """
import asyncio, os, signal, sys, threading
import oncelog
from oncelog.broker.server import opening
from oncelog.broker.server.server import Server

broker, real, goes_on = oncelog.Broker(sys.argv[1]), Server.stop, threading.Event()

async def slow(server):
    begun.set()
    while not goes_on.is_set():
        await asyncio.sleep(0.001)
    await real(server)

begun, Server.stop = threading.Event(), slow

def signal_once_it_stops(number):
    def wait():
        begun.wait()
        os.kill(os.getpid(), number)
    threading.Thread(target=wait, daemon=True).start()
"""
SCRIPTS = {
    "a signal handler": """
def handler(*_):
    goes_on.set()
    broker.stop()

signal.signal(signal.SIGTERM, handler)
broker.start()
signal_once_it_stops(signal.SIGTERM)
broker.stop()
""",
    "an interrupted stop": """
broker.start()
signal_once_it_stops(signal.SIGINT)
try:
    broker.stop()
    sys.exit("it was not interrupted")
except KeyboardInterrupt:
    goes_on.set()
broker.stop()
""",
    "a stop interrupted by a signal that another thread took": """
def interrupt():
    begun.wait()
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

broker.start()
threading.Thread(target=interrupt, daemon=True).start()
try:
    broker.stop()
    sys.exit("it was not interrupted")
except KeyboardInterrupt:
    goes_on.set()
broker.stop()
""",
    "work interrupted by a signal that another thread took": """
async def forever(_):
    begun.set()
    await asyncio.Event().wait()

def interrupt():
    begun.wait()
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

goes_on.set()
with broker:
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        broker.run_nodes(forever)
    except KeyboardInterrupt:
        pass
""",
    "a start after an interrupted stop": """
broker.start()
signal_once_it_stops(signal.SIGINT)
try:
    broker.stop()
    sys.exit("it was not interrupted")
except KeyboardInterrupt:
    goes_on.set()
""",
    "an interrupted start": """
goes_on.set()
real_opening = opening.open_server

async def interrupted(*args):
    os.kill(os.getpid(), signal.SIGINT)
    return await real_opening(*args)

opening.open_server = interrupted
try:
    broker.start()
    sys.exit("it was not interrupted")
except KeyboardInterrupt:
    opening.open_server = real_opening
""",
    "a forked process": """
goes_on.set()
with broker:
    child = os.fork()
    if not child:
        broker.stop()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    broker.on_loop(lambda _: None)
""",
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_broker_stops_completely_and_starts_again(script: str, tmp_path: Path) -> None:
    end = "\nwith broker:\n    assert broker.is_running\nprint('done', threading.active_count())"
    command = [sys.executable, "-c", BEGIN + script + end, str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.split(), done.returncode) == (["done", "1"], 0), done.stderr
