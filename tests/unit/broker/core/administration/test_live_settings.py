"""Every setting of a broker that is marked as changeable changes its behaviour at once, or is documented to change
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.broker.coordinator.share.state_rules import RecordState, StateBatch
from oncelog.broker.core.sharing.dead_letters import GivenUp
from oncelog.broker.metadata.property_effects import OTHERS, SECURITY
from oncelog.broker.metadata.store import ResourceType
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from oncelog.settings.config import TOPIC_SYNONYMS, BrokerConfig
from oncelog.settings.fields import properties
from oncelog.settings.kafka_properties import UpdateMode, broker_properties
from oncelog.types import TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tools.document_settings import without_effect

T = TypeVar("T")

T0 = TopicPartition("t", 0)
OF_TOPICS = {name for synonyms in TOPIC_SYNONYMS.values() for name, _ in synonyms}
"""Covered by ``test_live_topic_settings.py``."""
TESTED: set[str] = set()


def effect_of(name: str) -> Callable[[T], T]:
    """Marks a test as covering a setting."""
    TESTED.add(name)
    return lambda test: test


@pytest.fixture
def admin() -> Iterator[Admin]:
    made = Admin()
    yield made
    made.broker.stop(NOW_MS)


def changing(name: str, value: str) -> IncrementalAlterConfigsRequest:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    return IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=4, resource_name="", configs=[config])]
    )


def change(admin: Admin, name: str, value: str) -> None:
    (answer,) = admin.ask(changing(name, value)).responses
    assert answer.error_code == 0, answer.error_message


def idle_producer(admin: Admin) -> Callable[[int], bool]:
    """Whether a producer that was last seen at ``NOW_MS`` is still known after so many ms."""
    partition = admin.broker.partition(T0)
    assert partition is not None
    record = Record(offset=0, timestamp=NOW_MS, key=None, value=b"v")
    partition.append_client(encode_batch([record], producer_id=7, producer_epoch=0, base_sequence=0), NOW_MS)

    def known_after(passed_ms: int) -> bool:
        admin.broker.advance(NOW_MS + passed_ms)
        return bool(partition.log.active_producers())

    return known_after


@effect_of("producer.id.expiration.ms")
def test_a_change_of_producer_id_expiration_applies_at_once(admin: Admin) -> None:
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    known_after = idle_producer(admin)
    assert known_after(600_000)
    change(admin, "producer.id.expiration.ms", "60000")
    assert not known_after(1_200_000)


@effect_of("log.flush.interval.ms")
def test_a_change_of_the_flush_interval_applies_at_once() -> None:
    admin = Admin(**{"oncelog.flush.policy": "interval", "log.flush.interval.ms": "600000"})
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    idle_producer(admin)
    admin.broker.advance(NOW_MS + 1000)
    assert not admin.broker.flushing.wanted
    change(admin, "log.flush.interval.ms", "500")
    admin.broker.advance(NOW_MS + 1001)
    admin.broker.advance(NOW_MS + 1501)
    assert admin.broker.flushing.wanted


@effect_of("log.cleaner.backoff.ms")
def test_a_change_of_the_cleaner_backoff_applies_at_once(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(admin.broker.logs._cleaner, "_compacting", TopicPartition("t", 0))
    change(admin, "log.cleaner.backoff.ms", "50")
    for work in admin.broker.timers._repeated:
        if work._interval_ms() == 50:
            monkeypatch.setattr(work, "_work", looks.append)
    for passed_ms in (1, 51, 101):
        admin.broker.advance(NOW_MS + passed_ms)
    assert looks == [NOW_MS + 51, NOW_MS + 101]


@effect_of("transaction.partition.verification.enable")
def test_a_change_of_transaction_verification_applies_at_once(admin: Admin) -> None:
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    partition = admin.broker.partition(T0)
    assert partition is not None
    assert partition.log.writer.begin_verification(7, 0, 0, False) is not None
    change(admin, "transaction.partition.verification.enable", "false")
    assert partition.log.writer.begin_verification(8, 0, 0, False) is None


@effect_of("group.consumer.assignment.interval.ms")
@effect_of("group.share.assignment.interval.ms")
@pytest.mark.parametrize("kind", ["consumer", "share"])
def test_a_change_of_the_assignment_interval_of_groups_applies_at_once(admin: Admin, kind: str) -> None:
    admin.broker.topics.ensure_internal("__consumer_offsets", NOW_MS)
    shard = next(admin.broker.groups.runtime.shards())
    assert shard.env.group_setting("g", f"{kind}.assignment.interval.ms") == 1000
    change(admin, f"group.{kind}.assignment.interval.ms", "0")
    assert shard.env.group_setting("g", f"{kind}.assignment.interval.ms") == 0


@effect_of("errors.deadletterqueue.auto.create.topics.enable")
@effect_of("errors.deadletterqueue.topic.name.prefix")
@pytest.mark.parametrize(("prefix", "made"), [("letters-", True), ("dlq.", False)])
def test_a_change_of_dead_letter_topic_settings_applies_at_once(admin: Admin, prefix: str, made: bool) -> None:
    change(admin, "errors.deadletterqueue.auto.create.topics.enable", "true")
    change(admin, "errors.deadletterqueue.topic.name.prefix", prefix)
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    partition = admin.broker.partition(T0)
    assert partition is not None
    values = {"errors.deadletterqueue.topic.name": "letters-t"}
    admin.broker.metadata.set_dynamic_config(ResourceType.GROUP, "g", values)
    given_up = GivenUp("g", partition, [(StateBatch(0, 0, RecordState.ARCHIVING, 1), True)])
    admin.broker.sharing.dead_letters.write(given_up, NOW_MS)
    admin.broker.tasks.finish()
    assert (admin.broker.metadata.topic("letters-t") is not None) == made


@effect_of("max.connections")
def test_a_change_of_max_connections_applies_at_once() -> None:
    with oncelog.Broker() as broker, RawConnection(broker.bootstrap_servers) as first:
        (answer,) = first.ask(changing("max.connections", "2"), 1).responses
        assert answer.error_code == 0
        with RawConnection(broker.bootstrap_servers) as second:
            second.ask(ApiVersionsRequest(), 0)
            with RawConnection(broker.bootstrap_servers) as third, pytest.raises((ConnectionClosed, OSError)):
                third.ask(ApiVersionsRequest(), 0)
        (answer,) = first.ask(changing("max.connections", "10"), 1).responses
        eventually(lambda: served(broker.bootstrap_servers))


@effect_of("max.connections.per.ip")
@effect_of("max.connections.per.ip.overrides")
def test_a_change_of_max_connections_per_ip_applies_at_once() -> None:
    with oncelog.Broker() as broker, RawConnection(broker.bootstrap_servers) as first:
        first.ask(changing("max.connections.per.ip", "1"), 1)
        assert not served(broker.bootstrap_servers)
        first.ask(changing("max.connections.per.ip.overrides", "127.0.0.1:5"), 1)
        eventually(lambda: served(broker.bootstrap_servers))


@effect_of("max.connection.creation.rate")
def test_a_change_of_max_connection_creation_rate_applies_at_once() -> None:
    with oncelog.Broker() as broker, RawConnection(broker.bootstrap_servers) as first:
        first.ask(changing("max.connection.creation.rate", "1"), 1)
        begin = first.ask(ApiVersionsRequest(), 0)
        assert begin.error_code == 0
        for _ in range(4):
            assert served(broker.bootstrap_servers)
        limits = broker._server._limits[None]  # type: ignore[union-attr]
        assert limits.wait_ms("192.0.2.1", "PLAINTEXT", broker._server.now_ms()) > 0  # type: ignore[union-attr]


def served(address: str) -> bool:
    try:
        with RawConnection(address) as connection:
            return bool(connection.ask(ApiVersionsRequest(), 0).api_keys)
    except (ConnectionClosed, OSError):
        return False


WITHOUT_EFFECT = {item.name for item in without_effect()}
OF_LISTENERS = {name for section in SECURITY.values() for name in section}
"""Covered by ``tests/integration/security/test_live_tls.py`` and ``test_live_listeners.py``."""


def test_every_changeable_setting_is_tested_or_documented_as_having_no_effect() -> None:
    known = broker_properties()
    changeable = {name for name in known if known[name].update is not UpdateMode.READ_ONLY and not known[name].internal}
    assert changeable & {*properties(BrokerConfig), *OTHERS} == TESTED
    assert changeable - TESTED <= OF_TOPICS | OF_LISTENERS | WITHOUT_EFFECT
    assert not WITHOUT_EFFECT & (TESTED | OF_TOPICS | OF_LISTENERS)
