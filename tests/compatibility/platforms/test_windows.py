"""On Windows the clients, the commands and the broker in memory work; the broker on a folder says what it lacks."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
PRELUDE = "from tests.compatibility.platforms.as_windows import become_windows\nbecome_windows()\n"


def on_windows(program: Callable[[], None], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the body of a function, which imports what it needs, in such a process."""
    body = inspect.getsource(program) + f"\n{program.__name__}()\n"
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + body, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def _clients_on_a_broker_in_memory() -> None:
    import asyncio

    import oncelog
    from oncelog.client.aio import Consumer, Producer
    from oncelog.client.blocking import Consumer as BlockingConsumer
    from oncelog.client.blocking import Producer as BlockingProducer

    async def both_ways(servers: str) -> None:
        async with Producer(bootstrap_servers=servers, transactional_id="t") as producer, producer.transaction():
            await producer.send_and_wait("topic", b"x" * 300_000)
        async with Consumer(
            "topic", bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level="read_committed"
        ) as consumer:
            print(len((await consumer.getone()).value or b""))

    with oncelog.Broker() as broker:
        servers = broker.bootstrap_servers
        with BlockingProducer(bootstrap_servers=servers) as producer:
            producer.send("blocking", b"value").result()
        with BlockingConsumer("blocking", bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
            record = consumer.getone(timeout_ms=120_000)
            print(record.value if record else None)
        asyncio.run(both_ways(servers))


def test_clients_and_the_broker_in_memory_work() -> None:
    ended = on_windows(_clients_on_a_broker_in_memory)
    assert (ended.stdout, ended.stderr) == ("b'value'\n300000\n", "")


def _commands() -> None:
    import io
    import os
    import sys

    import oncelog
    from oncelog.cli.main import main

    def run(*arguments: str) -> None:
        try:
            main(arguments)
        except SystemExit as ended:
            print("status", ended.code, flush=True)

    with oncelog.Broker() as broker:
        os.environ["ONCELOG_BOOTSTRAP_SERVER"] = broker.bootstrap_servers
        run("topics", "create", "orders")
        sys.stdin = io.TextIOWrapper(io.BytesIO(b"one\n"))
        run("produce", "--topic", "orders")
        run("consume", "--topic", "orders", "--from-beginning", "--to-end")
        run("consume", "--topic", "orders", "--show-transactions", "--to-end")
        run("groups", "list")
        run("transactions", "list")


def test_commands_work_on_windows() -> None:
    ended = on_windows(_commands)
    assert ended.stdout.count("status 0") == 6, (ended.stdout, ended.stderr)
    assert "one\n" in ended.stdout


def _serve_until_interrupted() -> None:
    import os
    import signal
    import threading
    from pathlib import Path

    from oncelog.broker.server.listener_settings import parse_listeners
    from oncelog.broker.server.serve import serve

    def announce(listeners: object, metrics: object) -> None:
        print("listens", flush=True)
        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

    serve(parse_listeners("127.0.0.1:0", {}, ""), None, {}, announce)
    print("stopped", Path.cwd().is_dir())


def test_an_interrupt_stops_serve() -> None:
    ended = on_windows(_serve_until_interrupted)
    assert (ended.stdout, ended.stderr) == ("listens\nstopped True\n", "")


def _a_broker_on_a_folder() -> None:
    import sys
    from pathlib import Path

    import oncelog
    from oncelog.errors import OncelogError

    data = Path(sys.argv[1]) / "data"
    try:
        oncelog.Broker(data).start()
    except OncelogError as error:
        print(error)
    print(data.exists())


def test_a_broker_with_a_data_folder_says_what_windows_lacks(tmp_path: Path) -> None:
    ended = on_windows(_a_broker_on_a_folder, str(tmp_path))
    sentence, made = ended.stdout.splitlines()
    assert "no os.pread, os.pwrite, os.pwritev, os.O_CLOEXEC, os.O_DIRECTORY;" in sentence
    assert "leave the data folder out" in sentence
    assert made == "False"


def _the_tests_own_conftest() -> None:
    import sys

    sys.modules["pyspark"] = None  # type: ignore[assignment]
    import tests.conftest

    print(tests.conftest.__name__)


def test_tests_can_be_collected_on_windows_and_without_spark() -> None:
    ended = on_windows(_the_tests_own_conftest)
    assert (ended.stdout, ended.stderr) == ("tests.conftest\n", "")
