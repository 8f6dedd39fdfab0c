"""Dead letters while the broker, or the topic that they go to, does not work as it should (KIP-1191)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog.broker.coordinator.share.state_rules import RecordState, StateBatch
from oncelog.broker.core.sharing import dead_letters
from oncelog.broker.core.sharing.share_partition import AckBatch, AcknowledgeType
from oncelog.broker.core.sharing.share_partitions import Held
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.metadata.features import SHARE_VERSION
from oncelog.broker.metadata.store import ResourceType
from oncelog.errors import NONE, Error
from oncelog.records.batch import decode_records
from oncelog.records.record import Record
from oncelog.types import TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tests.unit.broker.core.sharing.test_share_partitions import STORED, Sharing

LETTERS = TopicPartition("dlq.t", 0)
REJECT = AckBatch(0, 4, [AcknowledgeType.REJECT])


class Queue(Sharing):
    """A group that rejects the five records that it has acquired."""

    def __init__(self, admin: Admin) -> None:
        super().__init__(admin)
        self.admin = admin
        admin.broker.topics.create("dlq.t", 1, {"errors.deadletterqueue.group.enable": "true"}, NOW_MS)
        self.configure(**{"errors.deadletterqueue.topic.name": "dlq.t"})

    def configure(self, **values: str) -> None:
        self.admin.broker.metadata.set_dynamic_config(ResourceType.GROUP, "g", values)

    def reject(self) -> Held:
        held = self.opened()
        self.acquire(held, "m")
        self.sharing.acknowledge(held, "m", [REJECT], NOW_MS)
        return held

    def batches(self) -> list[list[Record]]:
        partition = self.admin.broker.partition(LETTERS)
        assert partition is not None
        return [decode_records(batch) for _, batch in partition.log.batches(0)]

    def letters(self) -> list[Record]:
        return [record for batch in self.batches() for record in batch]


@pytest.fixture
def queue(admin: Admin) -> Iterator[Queue]:
    made = Queue(admin)
    yield made
    made.sharing.stop()


def test_dead_letters_are_written_after_the_acknowledgement_and_before_records_are_archived(queue: Queue) -> None:
    held = queue.reject()
    given_up, written = queue.states.writes[0]
    assert given_up.batches == [StateBatch(0, 4, RecordState.ARCHIVING, 1)]
    assert queue.letters() == [], "the acknowledgement may still be lost"
    written.resolve(NONE)
    assert len(queue.letters()) == 5
    archived, _ = queue.states.writes[1]
    assert archived.batches == [StateBatch(0, 4, RecordState.ARCHIVED, 1)]
    assert held.state.start_offset == 5


def test_an_acknowledgement_that_was_not_stored_has_no_dead_letter(queue: Queue) -> None:
    queue.reject()
    queue.states.writes[0][1].resolve(Error.COORDINATOR_NOT_AVAILABLE)
    assert queue.letters() == []


@pytest.mark.parametrize(("deliveries", "reason"), [(1, b"rejected by client"), (5, b"exceeded the threshold")])
def test_dead_letters_that_may_be_missing_are_written_when_the_share_partition_is_used_again(
    queue: Queue, deliveries: int, reason: bytes
) -> None:
    queue.open()
    batches = (StateBatch(0, 4, RecordState.ARCHIVING, deliveries),)
    queue.states.loads[0].resolve(STORED._replace(batches=batches))
    held = queue.open()
    assert isinstance(held, Held)
    assert [reason in (record.headers[-1][1] or b"") for record in queue.letters()] == [True] * 5
    assert held.state.start_offset == 5


def test_a_write_from_before_a_reload_does_not_archive_records_of_the_share_partition(queue: Queue) -> None:
    queue.admin.broker.topics.delete("dlq.t", NOW_MS)
    held = queue.reject()
    queue.sharing.states_changed("g")
    assert held.state.start_offset == 0
    queue.states.writes[0][1].resolve(NONE)
    assert len(queue.states.writes) == 1


def test_at_share_version_1_dead_letter_settings_have_no_effect(queue: Queue) -> None:
    queue.admin.broker.metadata.finalize_features({SHARE_VERSION: 1})
    queue.reject()
    assert queue.states.writes[0][0].batches == [StateBatch(0, 4, RecordState.ARCHIVED, 1)]


def test_records_are_archived_if_the_dead_letter_topic_is_unset_meanwhile(
    queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    queue.reject()
    queue.configure()
    queue.states.writes[0][1].resolve(NONE)
    assert "has no errors.deadletterqueue.topic.name any more" in caplog.text
    assert queue.states.writes[1][0].batches == [StateBatch(0, 4, RecordState.ARCHIVED, 1)]


def test_dead_letters_are_written_once_their_topic_has_enough_replicas(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = iter([True, True, False])
    monkeypatch.setattr(Partition, "lacks_replicas", property(lambda _: next(lacking, False)))
    queue.reject()
    queue.states.writes[0][1].resolve(NONE)
    for passed_ms, letters in ((999, 0), (1001, 0), (3001, 5)):
        queue.admin.broker.advance(NOW_MS + passed_ms)
        queue.admin.broker.tasks.finish()
        assert len(queue.letters()) == letters
    counts = queue.sharing.dead_letters
    assert (counts.tried["g"], counts.failed["g"], counts.written["g"]) == (3, 2, 5)


def test_no_dead_letters_are_written_to_a_topic_that_never_has_enough_replicas(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Partition, "lacks_replicas", property(lambda _: True))
    held = queue.reject()
    queue.states.writes[0][1].resolve(NONE)
    for passed_ms in (1000, 3000, 7000, 14_999, 15_000):
        assert held.state.start_offset == 0
        queue.admin.broker.advance(NOW_MS + passed_ms)
        queue.admin.broker.tasks.finish()
    assert held.state.start_offset == 5
    assert queue.letters() == []


def test_dead_letters_say_which_records_were_rejected_and_which_were_released_too_often(
    queue: Queue,
) -> None:
    queue.configure(**{"errors.deadletterqueue.topic.name": "dlq.t", "share.delivery.count.limit": "2"})
    held = queue.opened()
    queue.acquire(held, "m")
    queue.sharing.acknowledge(held, "m", [AckBatch(0, 4, [AcknowledgeType.RELEASE])], NOW_MS)
    queue.states.writes[0][1].resolve(NONE)
    queue.acquire(held, "m")
    released, rejected = AcknowledgeType.RELEASE, AcknowledgeType.REJECT
    acknowledgements = [AckBatch(0, 1, [rejected]), AckBatch(2, 2, [released]), AckBatch(3, 4, [released, rejected])]
    queue.sharing.acknowledge(held, "m", acknowledgements, NOW_MS)
    queue.states.writes[1][1].resolve(NONE)
    reasons = {dict(record.headers)["__dlq.errors.offset"]: record.headers[-1][1] for record in queue.letters()}
    were_rejected = {offset for offset, reason in reasons.items() if b"rejected by client" in (reason or b"")}
    assert (len(reasons), were_rejected) == (5, {b"0", b"1", b"4"})


def test_records_rejected_by_one_request_share_one_batch_of_dead_letters_and_one_state_change(queue: Queue) -> None:
    held = queue.opened()
    queue.acquire(held, "m")
    singles = [AckBatch(offset, offset, [AcknowledgeType.REJECT]) for offset in (0, 2, 4)]
    queue.sharing.acknowledge(held, "m", singles, NOW_MS)
    queue.states.writes[0][1].resolve(NONE)
    (letters,) = queue.batches()
    assert [dict(record.headers)["__dlq.errors.offset"] for record in letters] == [b"0", b"2", b"4"]
    archived = [StateBatch(offset, offset, RecordState.ARCHIVED, 1) for offset in (0, 2, 4)]
    assert [event.batches for event, _ in queue.states.writes[1:]] == [archived]


def test_a_batch_is_decompressed_once_for_all_of_its_dead_letters(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.configure(
        **{"errors.deadletterqueue.topic.name": "dlq.t", "errors.deadletterqueue.copy.record.enable": "true"}
    )
    unpacked: list[int] = []
    monkeypatch.setattr(
        dead_letters, "decode_records", lambda data, at: unpacked.append(at) or decode_records(data, at)
    )
    held = queue.opened()
    queue.acquire(held, "m")
    kinds = [AcknowledgeType.REJECT, AcknowledgeType.ACCEPT] * 2 + [AcknowledgeType.REJECT]
    queue.sharing.acknowledge(held, "m", [AckBatch(0, 4, kinds)], NOW_MS)
    queue.states.writes[0][1].resolve(NONE)
    assert [record.value for record in queue.letters()] == [b"0", b"2", b"4"]
    assert len(unpacked) == 1
