"""While a forked child lives, brokers, registry, metrics and proxy of its parent restart and end as without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, socket, sys
if {uvloop!r} == "without uvloop":
    sys.modules["uvloop"] = None
import oncelog
from oncelog.testing import FaultProxy

def connect(address):
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=30)

def has_ended(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True

def refusal(use):
    try:
        use()
    except oncelog.OncelogError as error:
        return str(error)
    return "not refused"

def fork(work):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(write)
        os.read(read, 1)
        work()
        sys.exit(0)  # with everything that Python does at the end
    os.close(read)
    return child, write

def end(child, write):
    os.close(write)
    assert os.waitpid(child, 0)[1] == 0

def in_the_child():
    reported = [refusal(use) for use in (
        broker.restart, lambda: broker.pass_time(1), lambda: producer.send("t", b"x"),
        lambda: cluster.leader("t", 0), proxy.end_connections,
    )]
    broker.stop(), proxy.stop(), producer.close()
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as own:
        own.send_and_wait("t", b"of the child")
    with oncelog.Broker() as mine, oncelog.Producer(bootstrap_servers=mine.bootstrap_servers) as own:
        own.send_and_wait("t", b"of the child alone")
    print(*reported, sep="\\n", flush=True)

folder = sys.argv[1]
durable = {{"oncelog.flush.policy": "commit"}}
broker = oncelog.Broker(folder, settings=durable, schema_registry=True, metrics="127.0.0.1:0", faults=True)
with broker, FaultProxy(broker.bootstrap_servers) as proxy, oncelog.Broker(nodes=3) as cluster:
    producer = oncelog.Producer(bootstrap_servers=broker.bootstrap_servers)
    through_proxy = oncelog.Producer(bootstrap_servers=proxy.bootstrap_servers)
    producer.send_and_wait("t", b"1"), through_proxy.send_and_wait("t", b"2")
    before, of_node = connect(broker.bootstrap_servers), connect(cluster.node(2).bootstrap_servers)
    child, write = fork(in_the_child)
    broker.restart()
    assert has_ended(before)
    producer.send_and_wait("t", b"3")
    broker.faults.power_loss()
    producer.send_and_wait("t", b"4")
    cluster.node(2).stop()
    assert has_ended(of_node)
    cluster.node(2).start()
    end(child, write)
    producer.send_and_wait("t", b"5"), through_proxy.send_and_wait("t", b"6")
    child, write = fork(lambda: None)
    addresses = [
        broker.bootstrap_servers, proxy.bootstrap_servers, str(broker.metrics_address),
        broker.schema_registry_url.removeprefix("http://"), cluster.node(2).bootstrap_servers,
    ]
    still_open = [connect(address) for address in addresses]
    producer.close(), through_proxy.close()
assert all(has_ended(connection) for connection in still_open)
for address in addresses:
    try:
        connect(address)
    except ConnectionRefusedError:
        pass
    else:
        sys.exit(f"{{address}} accepts connections")
end(child, write)
with oncelog.Broker(folder) as again:
    with oncelog.Consumer("t", bootstrap_servers=again.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        print(*sorted(consumer.getone().value.decode() for _ in range(7)), sep=", ")
"""
PRINTED = """\
the broker runs in the process that this one was forked from, which alone can restart it; clients of this process may \
use its bootstrap_servers
the broker runs in the process that this one was forked from; start another one here
the client was created before this process was forked; create a new one here
the broker runs in the process that this one was forked from; start another one here
the fault proxy runs in the process that this one was forked from; start another one here
1, 2, 3, 4, 5, 6, of the child
"""


@pytest.mark.parametrize("uvloop", ["with uvloop", "without uvloop"])
def test_a_forked_child_keeps_no_socket_or_file_of_its_parent(tmp_path: Path, uvloop: str) -> None:
    command = [sys.executable, "-c", SCRIPT.format(uvloop=uvloop), str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == PRINTED, done.stderr
