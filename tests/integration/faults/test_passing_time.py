"""Time that passes at once does what passing time does, and skips the rounds that would do nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.runtime.timers import RepeatedTimer, Timers

HOUR = 3600
DAY = 24 * HOUR
SETTINGS = {
    "log.retention.ms": 5 * HOUR * 1000,
    "offsets.retention.minutes": 7 * 60,
    "producer.id.expiration.ms": 3 * HOUR * 1000,
    "transactional.id.expiration.ms": 9 * HOUR * 1000,
}
STEPS_H = (0.5, 1, 1, 1, 2, 1, 1, 3, 2)


def _course(data: Path | None, nodes: int) -> list[Any]:
    """What is there after each step."""
    seen: list[Any] = []
    with oncelog.Broker(data, settings=SETTINGS, nodes=nodes) as broker:
        servers = broker.bootstrap_servers
        admin = oncelog.Admin(bootstrap_servers=servers).start()
        with oncelog.Producer(bootstrap_servers=servers) as producer:
            producer.send_and_wait("t", b"1")
        open_one = oncelog.Producer(bootstrap_servers=servers, transactional_id="x")
        open_one.begin_transaction()
        open_one.send_and_wait("t", b"2")
        options: dict[str, Any] = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        with oncelog.Consumer("t", bootstrap_servers=servers, group_id="g", **options) as consumer:
            consumer.getone()
            consumer.commit()
        partition = oncelog.TopicPartition("t", 0)
        for hours in STEPS_H:
            broker.pass_time(hours * HOUR)
            seen.append(
                (
                    [group.group_id for group in admin.list_consumer_groups()],
                    [(found.transactional_id, found.state) for found in admin.list_transactions()],
                    admin.list_offsets({partition: -2})[partition].offset,
                    admin.list_offsets({partition: -1}, read_committed=True)[partition].offset,
                    len(admin.describe_producers([partition])[partition]),
                )
            )
        admin.close()
        with pytest.raises(oncelog.KafkaError):
            open_one.commit_transaction()
        open_one.close()
    return seen


@pytest.mark.parametrize(("kept", "nodes"), [(False, 1), (True, 1), (False, 3)])
def test_skipping_idle_timer_intervals_changes_no_outcome(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: bool, nodes: int
) -> None:
    found = _course(tmp_path / "skipped" if kept else None, nodes)
    monkeypatch.setattr(Timers, "skip_idle", lambda *_: None)
    assert found == _course(tmp_path / "every" if kept else None, nodes)
    assert found[0][0] == ["g"]
    assert found[-1] == ([], [], 3, 3, 0)


@pytest.mark.parametrize("days", [8, 365])
def test_passing_a_year_takes_few_iterations(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    """Of groups and transactions there are 100 internal partitions, and a round of the cleaner each 15 seconds."""
    rounds: list[int] = []
    run = RepeatedTimer._run

    def counted(repeated: RepeatedTimer, now_ms: int) -> None:
        rounds.append(now_ms)
        run(repeated, now_ms)

    with oncelog.Broker() as broker:
        servers = broker.bootstrap_servers
        producer = oncelog.Producer(bootstrap_servers=servers, transactional_id="x")
        producer.begin_transaction()
        producer.send_and_wait("t", b"1")
        consumers = [
            oncelog.Consumer("t", bootstrap_servers=servers, group_id=f"g{number}", auto_offset_reset="earliest")
            for number in range(3)
        ]
        for consumer in consumers:
            consumer.start()
            consumer.getone(timeout_ms=100)
        monkeypatch.setattr(RepeatedTimer, "_run", counted)
        broker.pass_time(days * DAY)
        with oncelog.Admin(bootstrap_servers=servers) as admin:
            assert [found.transactional_id for found in admin.list_transactions(states=["Ongoing"])] == []
        monkeypatch.undo()
        producer.close()
        for consumer in consumers:
            consumer.close()
    assert len(rounds) < 40
