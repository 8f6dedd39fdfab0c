"""The metadata store: what it keeps through a restart, and what it refuses."""

from __future__ import annotations

import base64
import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from oncelog.broker.metadata.adoption import AdoptedTopic
from oncelog.broker.metadata.features import HIGHEST
from oncelog.broker.metadata.metadata_errors import MetadataError
from oncelog.broker.metadata.metadata_file import MetadataFile
from oncelog.broker.metadata.store import MetadataStore, ResourceType
from oncelog.errors import Error, InvariantError, KafkaError, StorageError
from oncelog.protocol.scram import credential
from oncelog.settings.config import TopicConfig
from tests.support.ports import CountingRandom
from tests.support.work import calls_of

Open = Callable[..., MetadataStore]


@pytest.fixture
def open_store(tmp_path: Path) -> Open:
    random = CountingRandom()

    def opened(**kwargs: object) -> MetadataStore:
        given = {"node_id": 1, "random": random, **kwargs}
        return MetadataStore(str(tmp_path / "metadata.sqlite"), **given)  # type: ignore[arg-type]

    return opened


def test_topics_survive_a_restart_with_id_overrides_and_effective_configuration(open_store: Open) -> None:
    store = open_store()
    made = store.create_topic("orders", 3, {"retention.ms": "1000", "cleanup.policy": "compact"}, 5)
    store.close()
    again = open_store(topic_defaults=TopicConfig(segment_ms=77))
    info = again.topic("orders")
    assert info is not None
    assert (info.topic_id, info.partitions, info.created_ms) == (made.topic_id, 3, 5)
    assert info.overrides == {"retention.ms": "1000", "cleanup.policy": "compact"}
    assert (info.config.retention_ms, info.config.segment_ms, info.config.compacted) == (1000, 77, True)
    assert again.topic_by_id(made.topic_id) == info
    assert again.cluster_id == store.cluster_id


def test_topics_are_sorted_by_name(open_store: Open) -> None:
    store = open_store()
    for name in ("b", "a.b", "C", "a"):
        store.create_topic(name, 1, {}, 0)
    assert [info.name for info in store.topics()] == ["C", "a", "a.b", "b"]


def test_internal_topics_are_marked_as_internal(open_store: Open) -> None:
    store = open_store()
    assert store.create_topic("__consumer_offsets", 1, {}, 0).internal
    assert not store.create_topic("__other", 1, {}, 0).internal


def test_the_name_of_a_deleted_topic_can_be_used_again_and_gets_a_new_id(open_store: Open) -> None:
    store = open_store()
    first = store.create_topic("t", 1, {"retention.ms": "5"}, 0)
    with pytest.raises(KafkaError, match="already exists") as refused:
        store.create_topic("t", 1, {}, 0)
    assert refused.value.error is Error.TOPIC_ALREADY_EXISTS
    store.delete_topic("t")
    assert store.topic("t") is None and store.topic_by_id(first.topic_id) is None and not store.topics()
    second = store.create_topic("t", 1, {}, 0)
    assert second.topic_id != first.topic_id
    store.close()
    again = open_store().topic("t")
    assert again is not None and again.topic_id == second.topic_id and again.overrides == {}


def test_unknown_topics_are_refused_by_every_change(open_store: Open) -> None:
    store = open_store()
    for change in (
        lambda: store.delete_topic("no"),
        lambda: store.add_partitions("no", 2),
        lambda: store.set_topic_config("no", {}),
        lambda: store.leader_epoch("no", 0),
    ):
        with pytest.raises(KafkaError) as refused:
            change()
        assert refused.value.error is Error.UNKNOWN_TOPIC_OR_PARTITION


def test_leader_epochs_after_a_start_exceed_those_of_earlier_elections(open_store: Open) -> None:
    store = open_store()
    store.create_topic("t", 2, {}, 0)
    for epoch in (1, 2, 3):
        store.leads_with("t", 1, epoch)
    store.leads_with("t", 0, 1)
    assert [store.leader_epoch("t", index) for index in range(2)] == [0, 0]  # of this start
    store.close()
    store = open_store()
    assert min(store.leader_epoch("t", index) for index in range(2)) == 4
    store.close()
    assert open_store().leader_epoch("t", 0) == 5


def test_a_failed_batch_of_changes_does_not_change_the_leader_epochs_of_this_start(open_store: Open) -> None:
    store = open_store()
    store.create_topic("t", 1, {}, 0)
    store.leads_with("t", 0, 7)
    with pytest.raises(ZeroDivisionError), store.batch():
        raise ZeroDivisionError
    assert store.leader_epoch("t", 0) == 0
    store.close()
    assert open_store().leader_epoch("t", 0) == 8


def test_leader_epochs_begin_at_0_and_grow_with_every_start(open_store: Open) -> None:
    store = open_store()
    store.create_topic("old", 1, {}, 0)
    assert store.leader_epoch("old", 0) == 0
    store.close()
    store = open_store()
    store.create_topic("new", 1, {}, 0)
    store.add_partitions("old", 3)
    assert [store.leader_epoch("old", index) for index in range(3)] == [1, 0, 0]
    assert store.leader_epoch("new", 0) == 0
    store.close()
    store = open_store()
    assert [store.leader_epoch("old", index) for index in range(3)] == [2, 1, 1]
    assert store.leader_epoch("new", 0) == 1
    with pytest.raises(InvariantError):
        store.leader_epoch("old", 3)


def test_partitions_can_be_added_but_not_removed(open_store: Open) -> None:
    store = open_store()
    store.create_topic("t", 2, {}, 0)
    for count in (0, 1, 2):
        with pytest.raises(InvariantError):
            store.add_partitions("t", count)
    assert store.add_partitions("t", 5).partitions == 5
    store.close()
    again = open_store().topic("t")
    assert again is not None and again.partitions == 5


def test_no_producer_id_is_given_twice_even_after_a_kill(open_store: Open, tmp_path: Path) -> None:
    seen: set[int] = set()
    for _ in range(4):
        store = open_store()
        given = [store.producer_ids.allocate() for _ in range(1001)]
        assert seen.isdisjoint(given)
        assert given == sorted(given)
        seen.update(given)
        store.close()
    assert len(seen) == 4004


def test_a_block_of_producer_ids_is_durable_before_its_first_id_is_given(open_store: Open, tmp_path: Path) -> None:
    store = open_store()
    assert store.producer_ids.allocate() == 0
    store.close()
    reader = sqlite3.connect(tmp_path / "metadata.sqlite")
    assert reader.execute("SELECT value FROM meta WHERE key = 'next_producer_id'").fetchone() == ("1000",)


def test_reserved_producer_ids_are_skipped(open_store: Open) -> None:
    store = open_store()
    assert store.producer_ids.allocate() == 0
    store.producer_ids.reserve(10)
    assert store.producer_ids.allocate() == 10
    store.producer_ids.reserve(5)
    assert store.producer_ids.allocate() == 11
    store.producer_ids.reserve(123_456)
    assert store.producer_ids.allocate() == 123_456
    assert store.producer_ids.allocate_block() == range(124_456, 125_456)


def test_dynamic_configuration_survives_a_restart(open_store: Open) -> None:
    store = open_store()
    store.set_dynamic_config(ResourceType.BROKER, "", {"log.retention.ms": "1"})
    store.set_dynamic_config(ResourceType.BROKER, "1", {"log.retention.ms": "2", "num.io.threads": "9"})
    store.set_dynamic_config(ResourceType.GROUP, "g", {"consumer.session.timeout.ms": "50000"})
    store.set_dynamic_config(ResourceType.GROUP, "h", {"consumer.session.timeout.ms": "50000"})
    store.set_dynamic_config(ResourceType.GROUP, "h", {})
    store.close()
    store = open_store()
    assert store.dynamic_config(ResourceType.BROKER, "") == {"log.retention.ms": "1"}
    assert store.dynamic_config(ResourceType.BROKER, "1") == {"log.retention.ms": "2", "num.io.threads": "9"}
    assert store.configured(ResourceType.GROUP) == ["g"]
    assert store.dynamic_config(ResourceType.GROUP, "h") == {}
    with pytest.raises(InvariantError):
        store.set_dynamic_config(ResourceType.TOPIC, "t", {})


def test_effective_configurations_follow_the_broker_defaults(open_store: Open) -> None:
    store = open_store()
    store.create_topic("plain", 1, {}, 0)
    store.create_topic("own", 1, {"retention.ms": "5"}, 0)
    store.set_topic_defaults(TopicConfig(retention_ms=9, segment_ms=8))
    plain, own = store.topic("plain"), store.topic("own")
    assert plain is not None and own is not None
    assert (plain.config.retention_ms, own.config.retention_ms, own.config.segment_ms) == (9, 5, 8)


def test_client_quotas_survive_a_restart(open_store: Open) -> None:
    store = open_store()
    store.set_client_quota((("user", "a"),), "producer_byte_rate", 5.5)
    store.set_client_quota((("user", None),), "producer_byte_rate", 7)
    store.set_client_quota((("client-id", "c"), ("user", "a")), "request_percentage", 1)
    store.set_client_quota((("client-id", "c"), ("user", "a")), "request_percentage", None)
    store.set_client_quota((("ip", "x"),), "connection_creation_rate", None)
    store.close()
    assert open_store().client_quotas() == {
        (("user", "a"),): {"producer_byte_rate": 5.5},
        (("user", None),): {"producer_byte_rate": 7},
    }


def test_scram_credentials_survive_a_restart(open_store: Open) -> None:
    # A password of RFC 5802's kind: ``pencil`` with the salt and iterations of RFC 7677's example.
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    kept = credential(1, 4096, salt, hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096))
    assert kept.stored_key == base64.b64decode("WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=")
    assert kept.server_key == base64.b64decode("wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=")
    store = open_store()
    for user, mechanism in (("a", 1), ("a", 2), ("b", 1)):
        store.set_scram_credentials({(user, mechanism): kept})
    store.set_scram_credentials({("a", 1): None})
    store.close()
    assert open_store().scram_credentials() == {("a", 2): kept, ("b", 1): kept}


def test_a_failed_batch_of_changes_changes_nothing(open_store: Open) -> None:
    store = open_store()
    store.create_topic("kept", 1, {}, 0)

    def change_all() -> None:
        with store.batch():
            store.create_topic("t", 1, {"retention.ms": "5"}, 0)
            store.set_dynamic_config(ResourceType.BROKER, "", {"log.retention.ms": "1"})
            store.producer_ids.allocate_block()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        change_all()
    assert [info.name for info in store.topics()] == ["kept"]
    assert store.dynamic_config(ResourceType.BROKER, "") == {}
    assert store.producer_ids.allocate() == 0
    store.close()
    assert [info.name for info in open_store().topics()] == ["kept"]


def test_a_failed_write_changes_nothing_in_memory(open_store: Open) -> None:
    store = open_store()
    store.file._db.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageError, match="cannot write the metadata file"):
        store.create_topic("t", 1, {}, 0)
    assert store.topic("t") is None
    store.file._db.execute("PRAGMA query_only = OFF")
    store.create_topic("t", 1, {}, 0)


def test_two_brokers_cannot_share_a_data_folder(open_store: Open) -> None:
    store = open_store()
    with pytest.raises(MetadataError, match="in use by another broker"):
        open_store()
    store.close()
    open_store().close()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"node_id": 2}, "belongs to node 1 and this broker is node 2; set node.id=1"),
        ({"cluster_id": "MkU3OEVBNTcwNTJENDM2Qg"}, "is to join cluster MkU3OEVBNTcwNTJENDM2Qg"),
    ],
)
def test_a_file_of_another_cluster_or_node_is_refused(
    open_store: Open, kwargs: dict[str, object], message: str
) -> None:
    open_store().close()
    with pytest.raises(MetadataError, match=message):
        open_store(**kwargs)
    open_store().close()


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_metadata_file_is_refused(open_store: Open, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "metadata.sqlite").write_bytes(content)
    with pytest.raises(MetadataError, match="is damaged"):
        open_store()


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE])
def test_the_error_of_the_metadata_store_says_that_the_disk_is_full(
    open_store: Open, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """SQLite says "disk I/O error" of a file beside it that cannot grow."""

    def refuse(file: MetadataFile, sync: bool) -> sqlite3.Connection:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = code
        raise error

    monkeypatch.setattr(MetadataFile, "_connect", refuse)
    with pytest.raises(MetadataError, match="the disk is full: free some space, then start again"):
        open_store()


def test_another_programs_database_is_refused(open_store: Open, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "metadata.sqlite")
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(MetadataError, match="is not a metadata file of oncelog"):
        open_store()


def test_a_metadata_file_of_a_newer_format_is_refused(open_store: Open, tmp_path: Path) -> None:
    open_store().close()
    newer = sqlite3.connect(tmp_path / "metadata.sqlite")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(MetadataError, match="has metadata format 99 and this oncelog knows formats up to 1"):
        open_store()


def test_a_missing_data_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MetadataError, match="cannot use the metadata file"):
        MetadataStore(str(tmp_path / "no" / "metadata.sqlite"), node_id=1, random=CountingRandom())


def test_adoption_imports_ids_epochs_and_producer_ids_once(open_store: Open) -> None:
    store = open_store()
    assert not store.adopted
    store.adopt([AdoptedTopic("k", b"\x07" * 16, 2, 5, {"cleanup.policy": "compact"})], 3000, 9)
    assert store.adopted
    info = store.topic("k")
    assert info is not None
    assert (info.topic_id, info.partitions, info.config.compacted) == (b"\x07" * 16, 2, True)
    assert [store.leader_epoch("k", index) for index in range(2)] == [5, 5]
    assert store.producer_ids.allocate() == 3000
    store.close()
    store = open_store()
    assert store.adopted
    assert store.leader_epoch("k", 0) == 6


def test_an_adopted_topic_with_an_impossible_override_is_refused_as_a_whole(open_store: Open) -> None:
    store = open_store()
    with pytest.raises(MetadataError, match="cannot take over the topic k"):
        store.adopt([AdoptedTopic("k", b"\x07" * 16, 1, 0, {"segment.bytes": "1"})], 3000, 9)
    assert not store.topics() and not store.adopted
    assert store.producer_ids.allocate() == 0


def test_a_store_in_memory_needs_no_file() -> None:
    store = MetadataStore(":memory:", node_id=1, random=CountingRandom())
    store.create_topic("t", 1, {}, 0)
    assert store.producer_ids.allocate() == 0
    assert len(store.cluster_id) == 22


def test_finalized_features_and_their_epoch_survive_a_restart(open_store: Open) -> None:
    store = open_store()
    assert store.finalized_features == HIGHEST
    store.create_topic("t", 1, {}, 0)
    store.finalize_features({"group.version": 0, "transaction.version": 1})
    changed = store.finalized_features
    assert (changed.level("group.version"), changed.level("transaction.version")) == (0, 1)
    assert changed.epoch == store.changes > 0
    store.finalize_features({"group.version": 0, "transaction.version": 1})
    assert store.finalized_features == changed, "nothing changed, so the epoch stays"
    store.close()
    again = open_store()
    assert again.finalized_features == changed
    again.finalize_features({"group.version": 1, "transaction.version": 1})
    assert again.finalized_features.epoch > changed.epoch


def test_a_failed_batch_of_changes_does_not_change_the_features(open_store: Open) -> None:
    store = open_store()
    before = store.changes

    def failing() -> None:
        with store.batch():
            store.finalize_features({"group.version": 0, "transaction.version": 0})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert store.finalized_features == HIGHEST
    assert store.changes == before


def test_the_number_of_metadata_changes_is_counted_over_restarts(open_store: Open) -> None:
    store = open_store()
    assert (store.starts, store.changes) == (0, 1)
    store.create_topic("t", 1, {}, 0)
    with store.batch():
        store.create_topic("u", 1, {}, 0)
        store.producer_ids.allocate_block()
    assert store.changes == 3
    store.close()
    again = open_store()
    assert (again.starts, again.changes) == (1, 4)


def test_a_change_that_could_not_be_written_does_not_damage_the_next_change(open_store: Open) -> None:
    """Otherwise it would neither be undone on failure nor synced."""

    class Lock:
        broken = False

        def __enter__(self) -> None:
            if self.broken:
                raise InterruptedError

        def __exit__(self, *_: object) -> None: ...

    store, lock, changes = open_store(), Lock(), list[None]()
    store.file.leave_sync_to(lambda: changes.append(None), lock)
    lock.broken = True
    with pytest.raises(InterruptedError):
        store.create_topic("a", 1, {}, 0)
    lock.broken = False
    store.create_topic("b", 1, {}, 0)
    assert len(changes) == 1
    store.close()


def test_topic_names_that_differ_only_by_dot_and_underscore_collide(open_store: Open) -> None:
    store = open_store()
    for name in ("x", "a_b", "a-b", "a.c", "d.e_f", "h.i"):
        store.create_topic(name, 1, {}, 5)
    store.delete_topic("h.i")
    expected = {"a.b": "a_b", "a_b": None, "d_e.f": "d.e_f", "ab": None, "a.d": None, "h_i": None}
    assert {name: store.colliding_topic(name) for name in expected} == expected
    store.close()
    assert open_store().colliding_topic("a.b") == "a_b"


def test_a_new_topic_name_is_not_compared_with_all_other_names(open_store: Open) -> None:
    """It was, and the names were sorted for it: 2.4 ms for each new topic beside 10,000."""
    store, calls = open_store(), []
    for count in (10, 500):
        for number in range(count):
            store.create_topic(f"of.{count}.{number}", 1, {}, 5)
        calls.append(calls_of(lambda: store.colliding_topic("new.one")))
    assert calls[0] == calls[1]
