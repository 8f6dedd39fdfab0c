"""A process without free file descriptors refuses what needs one; nothing goes offline, and later all is as before."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import RawConnection
from tests.hostile.conftest import Node

PARTITIONS = 20
NONE, STORAGE_ERROR = 0, 56


def test_no_partition_goes_offline_for_lack_of_a_descriptor(tmp_path: Path) -> None:
    node = Node(tmp_path, {"oncelog.flush.policy": "commit"})
    node.start()
    try:
        with node.connect() as client:
            client.create_topic("t", partitions=PARTITIONS)
            assert client.produce("t", batch(b"before")).error == NONE
            _, hard = resource.prlimit(node.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(node.pid, resource.RLIMIT_NOFILE, (8, hard))
            sent = [client.send_produce({("t", index): batch(b"scarce")}) for index in range(PARTITIONS)]
            eventually(lambda: "partitions wait for their sync" in node.log_tail())
            resource.prlimit(node.pid, resource.RLIMIT_NOFILE, (hard, hard))
            answers = [client.receive_produce(correlation_id) for correlation_id in sent]
            refused = [answer["t", index].error for index, answer in enumerate(answers)]
            assert set(refused) <= {NONE, STORAGE_ERROR}
            for index in range(PARTITIONS):
                assert client.produce("t", batch(b"after"), partition=index).error == NONE
        check_all_read(node, refused)
        node.kill()
        node.launch()
        node.await_ready()
        check_all_read(node, refused)
    finally:
        node.close()


@pytest.mark.parametrize(("descriptors", "partitions"), [(256, 300), pytest.param(1024, 1500, marks=pytest.mark.soak)])
def test_new_clients_are_served_during_a_produce_to_more_partitions_than_file_descriptors(
    tmp_path: Path, descriptors: int, partitions: int
) -> None:
    node = Node(tmp_path, {})
    node.prefix = ("prlimit", f"--nofile={descriptors}:{descriptors}")
    node.start()
    try:
        wide = {("wide", index): batch(b"v") for index in range(partitions)}
        with node.connect() as client:
            client.create_topic("wide", partitions=partitions)
            sent = client.send_produce(wide)
            for _ in range(5):  # each a new connection
                node.check_neighbour()
            answered = client.receive_produce(sent)
            assert {answer.error for answer in answered.values()} == {NONE}
            assert len(answered) == partitions
        assert "Too many open files" not in node.log_tail(100_000)
    finally:
        node.close()


def check_all_read(node: Node, refused: list[int]) -> None:
    """Every acknowledged record exists, and none twice."""
    with RawConnection(node.bootstrap_servers) as client:
        for index, error in enumerate(refused):
            values = client.read_committed("t", partition=index)
            wanted = [b"before"] * (index == 0) + [b"scarce"] * (error == NONE) + [b"after"]
            assert values == wanted
