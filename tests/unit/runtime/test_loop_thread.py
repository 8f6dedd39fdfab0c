"""Whoever waits for a loop's thread is told when that thread can do nothing any more."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from unittest import mock

import pytest

from oncelog.errors import OncelogError
from oncelog.runtime import loop_thread
from oncelog.runtime.loop_thread import LoopThread


@pytest.fixture
def thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopThread]:
    monkeypatch.setattr(loop_thread, "SIGNAL_SECONDS", 0.01)
    monkeypatch.setattr(loop_thread, "SILENT_SECONDS", 0.2)
    made = LoopThread(asyncio.SelectorEventLoop(), "oncelog-test", "the thing", "the thing is not running")
    yield made
    monkeypatch.undo()
    if made.is_here:
        made.end(nothing)


async def nothing() -> None: ...


async def forever() -> None:
    await asyncio.Event().wait()


def leave() -> None:
    raise SystemExit(3)


@pytest.mark.parametrize("how", ["run", "wait", "end"])
def test_a_thread_that_dies_ends_every_wait_with_the_reason(thread: LoopThread, how: str) -> None:
    if how == "end":
        thread.loop.call_soon_threadsafe(leave)
        thread.end(nothing)
    else:
        thread.loop.call_soon_threadsafe(thread.loop.call_later, 0.05, leave)
        with pytest.raises(OncelogError, match=r"the thing is not running any more, because SystemExit\(3\) has ended"):
            thread.run(forever()) if how == "run" else thread.wait(threading.Event())
    with pytest.raises(OncelogError, match=r"because SystemExit\(3\) has ended its thread; start another one"):
        thread.run(nothing())


def test_a_dying_thread_first_releases_its_resources() -> None:
    released: list[str] = []

    async def release() -> None:
        released.append(threading.current_thread().name)

    thread = LoopThread(asyncio.SelectorEventLoop(), "oncelog-test", "the thing", "not running")
    thread.at_death.append(release)
    thread.loop.call_soon_threadsafe(leave)
    thread.end(nothing)
    assert released == ["oncelog-test"]


@pytest.mark.parametrize("how", ["run", "wait", "end"])
def test_work_that_blocks_the_loop_thread_is_reported_with_its_stack(thread: LoopThread, how: str) -> None:
    goes_on = threading.Event()

    def blocked() -> None:
        goes_on.wait(60)

    thread.loop.call_soon_threadsafe(blocked)
    waits = {
        "run": lambda: thread.run(nothing()),
        "wait": lambda: thread.wait(threading.Event()),
        "end": lambda: thread.end(nothing),
    }
    with pytest.raises(OncelogError, match=r"the thing has not responded for 0\.2 s, because its thread .* in wait, "):
        waits[how]()
    goes_on.set()


def test_declared_long_work_is_not_reported_as_blocking_the_loop(thread: LoopThread) -> None:
    async def long() -> int:
        time.sleep(0.6)
        return 7

    assert thread.run(long(), is_long=True) == 7
    with pytest.raises(OncelogError, match="has not responded"):
        thread.run(long())


def test_work_that_waits_is_not_reported_as_blocking_the_loop(thread: LoopThread) -> None:
    assert thread.run(asyncio.sleep(0.6, 7)) == 7
    event = threading.Event()
    thread.call_soon(lambda: thread.loop.call_later(0.6, event.set))
    assert thread.wait(event)
    assert not thread.wait(threading.Event(), 0.3)


def test_a_forked_child_gets_an_error_that_the_thread_is_in_its_parent(thread: LoopThread) -> None:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            thread.end(nothing)
            thread.run(nothing())
        except OncelogError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1000) == (
        b"the thing runs in the process that this one was forked from; start another one here"
    )
    os.close(read)
    os.close(write)
    assert thread.run(asyncio.sleep(0, 7)) == 7


def test_a_mock_of_the_process_id_is_not_mistaken_for_a_fork(thread: LoopThread) -> None:
    """Tests of lock files and of log lines replace ``os.getpid``."""
    with mock.patch("os.getpid", return_value=1234):
        assert (thread.is_here, thread.is_inherited) == (True, False)
        thread.run(nothing())


@pytest.mark.parametrize("name", ["threading.Thread", "threading.Thread.start"])
def test_a_mock_in_the_place_of_a_thread_is_refused_at_once(name: str) -> None:
    loop = asyncio.SelectorEventLoop()
    with mock.patch(name), pytest.raises(OncelogError, match=r"the thing needs a thread.* replaced threading\.Thread "):
        LoopThread(loop, "oncelog-test", "the thing", "the thing is not running")
    assert loop.is_closed()


GREEN = """
from gevent import monkey
monkey.patch_all({patched})
import oncelog
for thing in (oncelog.Broker(), oncelog.Producer(bootstrap_servers="127.0.0.1:1")):
    try:
        thing.start()
    except Exception as error:
        print(error)
with oncelog.Broker() as broker:
    pass
"""
ADVICE = "thread=False, queue=False, select=False"


@pytest.mark.parametrize("patched", ["", "thread=False", "thread=False, queue=False", "thread=False, select=False"])
def test_green_threads_are_refused_at_once(patched: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", GREEN.format(patched=patched)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    assert first.startswith("the broker needs the operating system's threads, and gevent or eventlet has replaced them")
    assert second.startswith("the blocking clients' event loop needs the operating system's threads")
    assert ADVICE in first
    assert ADVICE in second


def test_the_advice_for_green_threads_works() -> None:
    code = f"""
from gevent import monkey, spawn, joinall
monkey.patch_all({ADVICE})
import oncelog

def send(number):
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait("t", b"%d" % number)

with oncelog.Broker() as broker:
    joinall([spawn(send, number) for number in range(3)], raise_error=True)
    with oncelog.Consumer("t", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        print(sorted(consumer.getone().value for _ in range(3)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "[b'0', b'1', b'2']\n", done.stderr
