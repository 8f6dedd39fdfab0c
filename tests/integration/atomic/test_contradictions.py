"""A database or a cluster that was restored to an earlier state, copied or cleaned: nothing is sent until somebody
decides.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import oncelog
from oncelog import Admin, NewTopic, Producer, TopicPartition, atomic
from oncelog.client.core.admin.admin_types import RecordsToDelete
from tests.conftest import RunningBroker
from tests.integration.client.reading import values


class Shop:
    """An outbox in memory, and a relay."""

    def __init__(self, broker: RunningBroker, name: str) -> None:
        self.servers, self.name = broker.bootstrap_servers, name
        self.database = sqlite3.connect(":memory:")
        atomic.Outbox(self.database).start()

    def write(self, *items: str) -> None:
        with atomic.Outbox(self.database).transaction() as transaction:
            for item in items:
                transaction.send(self.name, item.encode())

    def relay(self, name: str = "", batches: int = -1, **more: Any) -> None:
        with self.started(name, **more) as relay:
            while batches != 0 and relay.round():
                batches -= 1

    @contextmanager
    def started(self, name: str = "", **more: Any) -> Iterator[atomic.Relay]:
        chosen = name or f"{self.name}-relay"
        with (
            Producer(bootstrap_servers=self.servers, transactional_id=chosen) as producer,
            Admin(bootstrap_servers=self.servers) as admin,
        ):
            relay = atomic.Relay(self.database, producer, admin, **more)
            relay.start()
            yield relay

    def sent(self) -> list[bytes | None]:
        return values(self.servers, self.name)

    def copy(self) -> sqlite3.Connection:
        other = sqlite3.connect(":memory:")
        self.database.backup(other)
        return other


@pytest.fixture
def shop(oncelog_broker: RunningBroker, unique_name: str) -> Shop:
    return Shop(oncelog_broker, unique_name)


def test_after_a_database_is_restored_the_relay_sends_nothing_until_an_operator_decides(shop: Shop) -> None:
    shop.write("a")
    shop.relay()
    backup = shop.copy()
    shop.write("b")
    shop.relay()
    shop.write("c")
    shop.relay()
    shop.database = backup
    shop.write("d")
    with pytest.raises(
        atomic.Mismatch, match=r"the log has batch 3, and the database has relayed up to 1: the database was restored"
    ):
        shop.relay()
    assert shop.sent() == [b"a", b"b", b"c"]
    shop.relay(on_mismatch="skip")
    assert shop.sent() == [b"a", b"b", b"c", b"d"]
    shop.write("e")
    shop.relay()
    assert shop.sent() == [b"a", b"b", b"c", b"d", b"e"]


def test_a_copy_of_a_relayed_database_is_distinguished_from_the_original(shop: Shop) -> None:
    shop.write("a")
    shop.relay()
    copied, original = shop.copy(), shop.database
    shop.database = copied
    shop.write("of the copy")
    shop.relay()
    shop.database = original
    shop.write("of the original")
    with pytest.raises(atomic.Mismatch, match="the log has batch 2, and the database has relayed up to 1"):
        shop.relay()


def test_an_expired_position_does_not_make_the_relay_send_again(shop: Shop) -> None:
    shop.write("a")
    shop.relay(batches=1)  # its rows are still in the table
    with Admin(bootstrap_servers=shop.servers) as admin:
        admin.delete_consumer_groups([f"{shop.name}-relay"])
    with pytest.raises(atomic.Mismatch, match="the log has no position"):
        shop.relay()
    assert shop.sent() == [b"a"]
    shop.relay(on_mismatch="skip")
    shop.write("b")
    shop.relay()
    assert shop.sent() == [b"a", b"b"]


def test_the_relay_sends_its_last_batch_again_on_request(shop: Shop) -> None:
    shop.write("a")
    shop.relay(batches=1)
    with Admin(bootstrap_servers=shop.servers) as admin:
        admin.delete_consumer_groups([f"{shop.name}-relay"])
    shop.relay(on_mismatch="send")
    assert shop.sent() == [b"a", b"a"]
    shop.relay()
    assert shop.sent() == [b"a", b"a"]


def test_the_relay_refuses_to_continue_on_another_cluster(shop: Shop) -> None:
    shop.write("a")
    shop.relay()
    shop.write("b")
    with oncelog.Broker() as other:
        shop.servers = other.bootstrap_servers
        with pytest.raises(atomic.Mismatch, match="or it is another cluster"):
            shop.relay()


def test_a_second_relay_of_an_outbox_under_another_name_is_refused(shop: Shop) -> None:
    shop.write("a")
    shop.relay()
    with pytest.raises(atomic.Mismatch, match=f"relayed by '{shop.name}-relay', not by 'another'"):
        shop.relay("another")


def test_a_second_relay_fences_the_first(shop: Shop) -> None:
    with shop.started() as first:
        shop.write("a")
        assert first.round() == 1
        with shop.started() as second:
            shop.write("b")
            with pytest.raises(atomic.Superseded, match="another instance relays as"):
                first.round()
            assert second.round() == 1
    assert shop.sent() == [b"a", b"b"]


def test_a_relay_killed_before_its_first_batch_sends_that_batch_after_a_restart(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(Exception):
        pass

    async def die(*_: object) -> None:
        raise Died

    shop.write("a")
    for _ in range(2):
        with shop.started() as relay, monkeypatch.context() as patch:
            patch.setattr(relay._core, "_in_transaction", die)
            with pytest.raises(Died):
                relay.round()
    shop.relay()
    assert shop.sent() == [b"a"]


@pytest.mark.parametrize(
    ("settings", "more", "words"),
    [
        ({}, {}, "a transactional_id"),
        ({"transactional_id": "r", "two_phase_commit": True}, {}, "no two_phase_commit"),
        ({"transactional_id": "r"}, {"batch_size": 0}, "batch_size=0"),
        ({"transactional_id": "r"}, {"on_mismatch": "guess"}, "guess"),
    ],
)
def test_an_unusable_configuration_of_a_relay_is_refused(
    shop: Shop, settings: dict[str, Any], more: dict[str, Any], words: str
) -> None:
    producer = Producer(bootstrap_servers=shop.servers, **settings)
    with pytest.raises((ValueError, oncelog.KafkaError), match=words):
        atomic.Relay(shop.database, producer, Admin(bootstrap_servers=shop.servers), **more)


@contextmanager
def inbox(shop: Shop, **more: Any) -> Iterator[atomic.Inbox[bytes, bytes]]:
    settings: dict[str, Any] = {
        "bootstrap_servers": shop.servers,
        "group_id": f"{shop.name}-inbox",
        "isolation_level": "read_committed",
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
    }
    begin = str(more.pop("begin", "earliest"))
    with oncelog.Consumer(**(settings | more)) as consumer:
        reading = atomic.Inbox(atomic.Outbox(shop.database), consumer, [shop.name], begin=begin)
        reading.start()
        yield reading


def received(reading: atomic.Inbox[bytes, bytes], count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    while len(found) < count:
        with reading.transaction() as transaction:
            found += [record.value for record in transaction.records]
    return found


def fail(reading: atomic.Inbox[bytes, bytes]) -> list[bytes | None]:
    """A block that fails when it has records; returns them."""
    found: list[bytes | None] = []
    try:
        with reading.transaction() as transaction:
            found = [record.value for record in transaction.records]
            if found:
                raise LookupError("the block fails")
    except LookupError:
        return found
    return found


def produce(shop: Shop, *items: str) -> None:
    with Producer(bootstrap_servers=shop.servers) as producer:
        for item in items:
            producer.send_and_wait(shop.name, item.encode())


def test_an_inbox_takes_its_position_from_the_database_and_not_from_the_group(shop: Shop) -> None:
    produce(shop, "a", "b", "c")
    with inbox(shop) as reading:
        assert received(reading, 3) == [b"a", b"b", b"c"]
    shop.database.execute("UPDATE oncelog_inbox SET next_offset = 1")
    shop.database.commit()
    with inbox(shop) as reading:
        assert received(reading, 2) == [b"b", b"c"]


def test_records_of_a_failed_block_are_delivered_again(shop: Shop) -> None:
    produce(shop, "a", "b")
    with inbox(shop) as reading:
        while (failed := fail(reading)) == []:
            pass
        assert failed == [b"a", b"b"]
        assert received(reading, 2) == [b"a", b"b"]


def test_an_inbox_can_begin_at_the_end(shop: Shop) -> None:
    produce(shop, "before")
    with inbox(shop, begin="latest") as reading:
        while not shop.database.execute("SELECT * FROM oncelog_inbox").fetchall():
            assert received(reading, 0) == []
            with reading.transaction(timeout_ms=100) as transaction:
                assert transaction.records == []
        produce(shop, "after")
        assert received(reading, 1) == [b"after"]


def test_deleted_records_raise_an_error_and_are_not_skipped(shop: Shop) -> None:
    produce(shop, "a", "b", "c")
    with inbox(shop) as reading:
        assert received(reading, 3) == [b"a", b"b", b"c"]
    shop.database.execute("UPDATE oncelog_inbox SET next_offset = 0")
    shop.database.commit()
    with Admin(bootstrap_servers=shop.servers) as admin:
        admin.delete_records({TopicPartition(shop.name, 0): RecordsToDelete(2)})
    with inbox(shop) as reading, pytest.raises(atomic.Mismatch, match="are gone, or the topic was recreated"):
        received(reading, 1)


def test_a_recreated_topic_raises_an_error(shop: Shop) -> None:
    produce(shop, "a", "b", "c")
    with inbox(shop) as reading:
        assert received(reading, 3) == [b"a", b"b", b"c"]
    with Admin(bootstrap_servers=shop.servers) as admin:
        admin.delete_topics([shop.name])
        admin.create_topics([NewTopic(shop.name, 1, 1)])
    produce(shop, "another")
    with inbox(shop) as reading, pytest.raises(atomic.Mismatch, match="are gone, or the topic was recreated"):
        received(reading, 1)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"isolation_level": "read_uncommitted"}, "isolation_level='read_committed'"),
        ({"enable_auto_commit": True}, "enable_auto_commit=False"),
        ({"auto_offset_reset": "earliest"}, "auto_offset_reset='none'"),
        ({"group_id": None}, "a group_id"),
        ({"begin": "middle"}, "begin='middle'"),
    ],
)
def test_an_inbox_refuses_a_consumer_that_could_skip_or_repeat_records(
    shop: Shop, more: dict[str, Any], words: str
) -> None:
    with pytest.raises((ValueError, oncelog.KafkaError), match=words), inbox(shop, **more):
        pass
