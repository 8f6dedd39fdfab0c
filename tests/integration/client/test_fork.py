"""Blocking clients and ``os.fork``: the child has clients of its own, and the parent's continue undisturbed."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable

import pytest

import oncelog
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from tests.conftest import RunningBroker
from tests.integration.client.reading import values


@pytest.fixture
def topic(broker: RunningBroker, unique_name: str) -> str:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 2, 1)])
    return unique_name


def test_a_forked_process_uses_clients_of_its_own(broker: RunningBroker, topic: str) -> None:
    script = """
import os, sys
from oncelog.client.blocking import Producer
servers, topic = sys.argv[1:]
parent = Producer(bootstrap_servers=servers)
parent.send_and_wait(topic, b"parent", partition=0)
child = os.fork()
if not child:
    del parent  # the parent's affair: neither a warning nor a closed connection comes of it
    with Producer(bootstrap_servers=servers) as producer:
        producer.send_and_wait(topic, b"child", partition=0)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
parent.send_and_wait(topic, b"parent again", partition=0)
parent.stop()
"""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", script, broker.bootstrap_servers, topic],
        check=True,
        timeout=300,
        env=os.environ.copy(),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "Unclosed" not in done.stderr
    assert values(broker.bootstrap_servers, topic, 2) == [b"parent", b"child", b"parent again"]


USES_THE_PARENTS = """
import os, sys
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.errors import IllegalStateError
from oncelog.types import TopicPartition
servers, topic = sys.argv[1:]
parent = Producer(bootstrap_servers=servers, linger_ms=100_000)
for number in range(20_000):  # some wait for the loop, some are in batches
    parent.send(topic, b"%d" % number, partition=0)
reader = Consumer(bootstrap_servers=servers, auto_offset_reset="earliest")
reader.assign([TopicPartition(topic, 1)])
admin = Admin(bootstrap_servers=servers).start()
first = Producer(bootstrap_servers=servers)
for value in (b"a", b"b"):
    first.send(topic, value, partition=1)
first.flush()
assert reader.getone().value == b"a"
child = os.fork()
if not child:
    wrong = 0
    for use in (*[lambda: parent.send(topic, b"child's", partition=0)] * 3, parent.flush, parent.begin_transaction,
                reader.getone, reader.getmany):
        try:
            use()
        except IllegalStateError as error:
            wrong += "before this process was forked" not in str(error)
        else:
            wrong += 1
    parent.stop()  # nothing is the child's to send
    reader.stop()  # nor to leave
    admin.close()
    os._exit(wrong)
assert os.waitpid(child, 0)[1] == 0
assert reader.getone().value == b"b"
parent.send(topic, b"last", partition=0)
parent.stop()
reader.stop()
first.stop()
assert topic in admin.list_topics()
admin.close()
"""


def test_each_use_of_a_parents_client_in_a_child_is_refused_and_no_record_is_sent_twice(
    broker: RunningBroker, topic: str
) -> None:
    arguments = [sys.executable, "-c", USES_THE_PARENTS, broker.bootstrap_servers, topic]
    subprocess.run(arguments, check=True, timeout=300, env=os.environ.copy())
    found = [value for value in values(broker.bootstrap_servers, topic, 2) if value not in (b"a", b"b")]
    assert found == [*(b"%d" % number for number in range(20_000)), b"last"]


def test_a_client_that_only_a_forked_child_starts_belongs_to_the_child(broker: RunningBroker, topic: str) -> None:
    """Workers may fork again: a grandchild's record would wait for a loop that does not exist in that process."""
    script = """
import os, sys
from oncelog.client.blocking import Producer
from oncelog.client.errors import IllegalStateError
servers, topic = sys.argv[1:]
made = Producer(bootstrap_servers=servers)
child = os.fork()
if not child:
    made.send_and_wait(topic, b"child", partition=0)
    grandchild = os.fork()
    if not grandchild:
        try:
            made.send(topic, b"grandchild", partition=0)
        except IllegalStateError as error:
            os._exit("before this process was forked" not in str(error))
        os._exit(2)
    status = os.waitpid(grandchild, 0)[1]
    made.stop()
    os._exit(os.waitstatus_to_exitcode(status))
assert os.waitpid(child, 0)[1] == 0
made.send_and_wait(topic, b"parent", partition=0)
made.stop()
"""
    arguments = [sys.executable, "-c", script, broker.bootstrap_servers, topic]
    subprocess.run(arguments, check=True, timeout=300, env=os.environ.copy())
    assert values(broker.bootstrap_servers, topic, 2) == [b"child", b"parent"]


@pytest.mark.parametrize("make", [oncelog.Producer, oncelog.Consumer, oncelog.Admin, lambda **_: oncelog.Broker()])
def test_brokers_and_clients_refuse_to_be_copied_or_sent_to_another_process(make: Callable[..., object]) -> None:
    """Django's ``TestCase`` copies what ``setUpTestData`` has assigned."""
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied or sent to another process: "):
            copied(make(bootstrap_servers="127.0.0.1:1"))
