"""While one process sends the worst that a client can send, another's records are accepted, stored and read.

``python -m benchmarks.neighbour`` measures the times, also of Apache Kafka; this is its short form.
"""

from __future__ import annotations

import threading

import pytest

from benchmarks import neighbour
from tests.support.crash_rounds.node import ServeProcess

MEMORY_MB = 512


@pytest.mark.parametrize("attacks", [neighbour.ATTACKS], ids=["all"])
def test_under_attack_no_record_is_lost_and_memory_is_bounded(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    attacks: tuple[neighbour.Attack, ...],
) -> None:
    monkeypatch.setattr(neighbour, "TRIED", 0)  # the fuzzer's corpus alone
    node = ServeProcess(tmp_path_factory.mktemp("neighbour"), {})
    node.start()
    address = node.bootstrap_servers
    try:
        neighbour.make_topics(address)
        survived: list[str] = []

        def fire() -> None:
            for attack in attacks:
                neighbour.once(attack, address)
                survived.append(attack.__name__)

        enemy = threading.Thread(target=fire)
        with neighbour.running_consumer(address) as arrivals:
            enemy.start()
            delivered = len(neighbour.latencies(address, 1.0))
            while enemy.is_alive():
                delivered += len(neighbour.latencies(address, 0.5))
            enemy.join()
            node.check_alive()
            assert survived == [attack.__name__ for attack in attacks]
            assert len(arrivals(delivered)) == delivered
        assert neighbour.largest_mb(node.pid) < MEMORY_MB
    finally:
        node.close()
