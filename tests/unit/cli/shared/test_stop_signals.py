"""Ctrl-C, SIGTERM and SIGHUP: what they end, when, and what is cleaned up before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

BLOCKED = """
import os, sys
from oncelog.cli.shared.stop_signal import Stop
try:
    stop = Stop(lambda: os.write(1, b"told %d\\n" % stop.asked))
    reader, writer = os.pipe()
    os.write(1, b"ready\\n")
    while True:
        os.write(writer, bytes(1 << 20))  # more than a pipe holds, and nobody reads
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
def test_a_second_signal_ends_a_command_whose_output_is_not_read(number: signal.Signals, status: int) -> None:
    def as_in_a_terminal() -> None:  # the tests may run under nohup, and children inherit that
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    with subprocess.Popen(
        [sys.executable, "-c", BLOCKED], stdout=subprocess.PIPE, text=True, preexec_fn=as_in_a_terminal
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == "told 1\n"
        process.send_signal(number)
        assert process.wait(120) == status


CLEANING_UP = """
import os, signal
from oncelog.cli.shared.output import cleaning_up
try:
    with cleaning_up():
        os.write(1, b"ready\\n")
        while True:
            signal.pause()
finally:
    os.write(1, b"cleaned up\\n")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_after_a_signal_a_command_removes_what_it_created(number: signal.Signals) -> None:
    def as_in_a_terminal() -> None:  # the tests may run under nohup, and children inherit that
        signal.signal(number, signal.SIG_DFL)

    with subprocess.Popen(
        [sys.executable, "-c", CLEANING_UP], stdout=subprocess.PIPE, text=True, preexec_fn=as_in_a_terminal
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == "cleaned up\n"
        assert process.wait(120) == 128 + number


def test_a_hangup_signal_that_is_ignored_stays_ignored() -> None:
    def as_nohup() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with subprocess.Popen(
        [sys.executable, "-c", CLEANING_UP], stdout=subprocess.PIPE, text=True, preexec_fn=as_nohup
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "cleaned up\n"
        assert process.wait(120) == 128 + signal.SIGTERM


HELD = """
import asyncio, os, signal
from oncelog.cli import loading
with loading("serve"):
    os.kill(os.getpid(), signal.SIGHUP)
from oncelog.broker.server.process.loops import on_reload_signal
async def main():
    reloaded = asyncio.Event()
    on_reload_signal(asyncio.get_running_loop(), reloaded.set)
    await reloaded.wait()
asyncio.run(main())
print("reloaded")
"""


def test_a_hangup_signal_before_serve_is_ready_is_handled_later() -> None:
    reported = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, timeout=120, check=False)
    assert (reported.returncode, reported.stdout) == (0, "reloaded\n"), reported.stderr


INTERRUPTED = """
import sys
import oncelog.cli.main as program
def interrupt(context):
    sys.stdout.write("not flushed yet")
    raise KeyboardInterrupt
program.command.invoke = interrupt
program.main(["topics"])
"""


def test_an_interrupted_command_does_not_wait_for_the_reader_of_its_output() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, bytes(4096))
    except BlockingIOError:
        os.set_blocking(writing, True)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=writing, env=buffered) as process:
        assert process.wait(120) == 130
    os.close(reading)
    os.close(writing)
