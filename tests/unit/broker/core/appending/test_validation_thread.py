"""Batches that take long are checked on another thread: the same answers in the same order, whatever happens."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

from oncelog.broker.core.appending.batch import PendingBatch
from oncelog.broker.core.appending.validation_cost import (
    LONG_BYTES,
    LONG_FOR_QUICK_CODECS_BYTES,
    LONG_GZIP_BYTES,
    SHORT_UNPACKED_BYTES,
)
from oncelog.broker.core.appending.validation_thread import MAX_IN_VALIDATION_BYTES
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.parking import MAX_PARKS, Park
from oncelog.errors import Error
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import PartitionProduceResponse, ProduceResponse
from oncelog.records import validation
from oncelog.records.batch import HEADER_SIZE_BYTES, encode_batch
from oncelog.records.compression import Compression
from oncelog.records.crc import crc32c
from oncelog.records.record import Record
from oncelog.records.validation import Checked, unpacked_limit
from oncelog.runtime.ports import Background
from oncelog.types import TopicPartition
from tests.support.frames import encode_request
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel

TOPICS: dict[str, dict[str, str]] = {"plain": {}, "packed": {"compression.type": "zstd"}}
RANDOM = Random(1).randbytes(2 * LONG_FOR_QUICK_CODECS_BYTES)
VERSION = 9


class Later:
    """``ports.Background`` that does nothing until it is told to."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Callable[[], None], Callable[[Exception | None], None]]] = []

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        self.jobs.append((work, done))

    def do(self) -> None:
        """The oldest one."""
        work, done = self.jobs.pop(0)
        try:
            work()
        except Exception as error:  # noqa: BLE001 - as a worker does
            done(error)
        else:
            done(None)


class Peer(RecordingChannel):
    """One connection."""

    def __init__(self) -> None:
        super().__init__()
        self.held = 0

    def pause_requests(self) -> None:
        self.held += 1

    def resume_requests(self, slot: int) -> None:
        self.held = 0

    def parts(self, version: int = VERSION) -> list[PartitionProduceResponse]:
        """All partitions of its answers."""
        found = []
        for answer in self.answers:
            _, header = decode_response_header(answer[4:], ProduceRequest.API_KEY, version)
            response = ProduceResponse.decode(answer, version, 4 + header)
            found += [part for topic in response.responses for part in topic.partition_responses]
        return found


class Side:
    def __init__(self, **settings: str) -> None:
        self.admin = Admin(**settings)
        self.broker = self.admin.broker
        self.worker = Later()
        self.broker.validation_thread.worker = self.worker
        made = [
            CreatableTopic(
                name=name,
                num_partitions=2,
                replication_factor=1,
                configs=[CreatableTopicConfig(key, value) for key, value in configs.items()],
            )
            for name, configs in TOPICS.items()
        ]
        self.admin.ask(CreateTopicsRequest(topics=made, timeout_ms=1000), 7)

    def produce(
        self,
        peer: Peer,
        *batches: bytes,
        topic: str = "plain",
        acks: int = -1,
        transactional_id: str | None = None,
        version: int = VERSION,
        indexes: Sequence[int] = range(2),
    ) -> None:
        data = [PartitionProduceData(index, memoryview(batch)) for index, batch in zip(indexes, batches, strict=False)]
        request = ProduceRequest(transactional_id, acks, 30_000, [TopicProduceData(name=topic, partition_data=data)])
        sent = encode_request(request.API_KEY, version, 7, "test", request.encode(version))
        self.broker.receive(peer, 0, memoryview(sent)[4:], NOW_MS)

    def end_offset(self, partition: int = 0) -> int:
        found = self.broker.partition(TopicPartition("plain", partition))
        assert found is not None
        return found.log.log_end_offset


@pytest.fixture
def side() -> Iterator[Side]:
    made = Side()
    yield made
    made.broker.stop(NOW_MS)


def packed(size: int = SHORT_UNPACKED_BYTES, codec: Compression = Compression.GZIP, **of: int | bool) -> bytes:
    return bytes(encode_batch([Record(0, NOW_MS, b"k", RANDOM[:size])], compression=codec, **of))  # type: ignore[arg-type]


def of_zeros(size: int, codec: Compression) -> bytes:
    """Compresses to little."""
    return bytes(encode_batch([Record(0, NOW_MS, None, bytes(size))], compression=codec))


def test_validating_a_long_batch_pauses_its_connection(side: Side) -> None:
    peer, memory = Peer(), side.broker.request_memory
    side.produce(peer, packed())
    assert (peer.held, peer.answers, side.end_offset()) == (1, [], 0)
    assert memory.taken_bytes >= LONG_BYTES
    side.worker.do()
    assert peer.held == 0
    assert [(part.error_code, part.base_offset) for part in peer.parts()] == [(Error.NONE, 0)]
    assert side.end_offset() == 1
    assert memory.taken_bytes == 0


@pytest.mark.parametrize(
    ("topic", "batch", "worker"),
    [
        ("plain", packed(), True),
        ("plain", packed(LONG_GZIP_BYTES), False),
        ("plain", packed(SHORT_UNPACKED_BYTES // 2), False),
        ("plain", of_zeros(3_000_000, Compression.GZIP), True),
        ("plain", packed(LONG_GZIP_BYTES // 2), False),
        ("plain", packed(LONG_BYTES, Compression.ZSTD), False),
        ("plain", of_zeros(16_000_000, Compression.ZSTD), True),
        ("plain", of_zeros(2_000_000, Compression.LZ4), True),
        ("plain", of_zeros(1_500_000, Compression.SNAPPY), True),
        ("plain", of_zeros(900_000, Compression.LZ4), False),
        ("plain", of_zeros(900_000, Compression.ZSTD), False),
        ("packed", packed(LONG_BYTES, Compression.GZIP), True),
        ("packed", of_zeros(200_000, Compression.LZ4), True),
        ("packed", of_zeros(1_000, Compression.LZ4), False),
        ("plain", packed(LONG_BYTES, Compression.NONE), False),
        ("plain", packed(LONG_BYTES, Compression.LZ4), False),
        ("plain", packed(LONG_FOR_QUICK_CODECS_BYTES, Compression.LZ4), True),
        ("plain", packed(LONG_FOR_QUICK_CODECS_BYTES, Compression.NONE), False),
        ("packed", packed(LONG_BYTES, Compression.NONE), True),
        ("packed", packed(LONG_BYTES, Compression.ZSTD), False),
    ],
)
def test_only_long_validations_run_on_the_thread(side: Side, topic: str, batch: bytes, worker: bool) -> None:
    peer = Peer()
    side.produce(peer, batch, topic=topic)
    assert bool(side.worker.jobs) is worker
    if worker:
        side.worker.do()
    assert [part.error_code for part in peer.parts()] == [Error.NONE]


def test_a_batch_whose_header_claims_too_small_a_size_is_validated_on_the_thread(side: Side) -> None:
    """Two concatenated streams, of which the last is short, understate the size as much as a lie does."""
    honest = bytearray(encode_batch([Record(0, NOW_MS, None, bytes(3_000_000))], compression=Compression.GZIP))
    lie = honest[:-4] + (1000).to_bytes(4, "little")
    lie[17:21] = crc32c(memoryview(lie)[21:]).to_bytes(4, "big")
    members = gzip.compress(gzip.decompress(honest[HEADER_SIZE_BYTES:])) + gzip.compress(b"")
    two = honest[:HEADER_SIZE_BYTES] + members
    two[8:12] = (len(two) - 12).to_bytes(4, "big")
    two[17:21] = crc32c(memoryview(two)[21:]).to_bytes(4, "big")
    for batch, outcome in ((lie, Error.INVALID_RECORD), (two, Error.NONE)):
        peer = Peer()
        side.produce(peer, bytes(batch))
        assert not peer.answers
        side.worker.do()
        assert [part.error_code for part in peer.parts()] == [outcome]


def test_a_damaged_short_gzip_batch_is_refused_on_the_event_loop(side: Side) -> None:
    batch, peer = bytearray(packed(LONG_GZIP_BYTES)), Peer()
    batch[-10] ^= 1
    batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    side.produce(peer, bytes(batch))
    assert [part.error_code for part in peer.parts()] == [Error.INVALID_RECORD]


@pytest.mark.parametrize("acks", [-1, 0, 1])
@pytest.mark.parametrize("place", ["crc", "records", "base offset", "nothing"])
def test_the_thread_gives_the_same_answer_as_the_event_loop(side: Side, place: str, acks: int) -> None:
    batch = bytearray(packed())
    if place == "crc":
        batch[18] ^= 1
    elif place == "base offset":
        batch[7] = 1
    elif place == "records":  # gzip data that is none, under a CRC that fits
        batch = bytearray(encode_batch([Record(0, NOW_MS, None, RANDOM[:LONG_BYTES])]))
        batch[22] = Compression.GZIP
        batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    here, there, alone = Peer(), Peer(), Side()
    alone.broker.validation_thread.worker = None
    alone.produce(here, bytes(batch), acks=acks)
    side.produce(there, bytes(batch), acks=acks)
    assert not there.answers
    side.worker.do()
    assert (there.answers, there.closed) == (here.answers, here.closed)
    assert side.end_offset() == alone.end_offset() == (place == "nothing")
    alone.broker.stop(NOW_MS)


def test_no_batch_is_appended_to_a_topic_that_was_deleted_during_the_validation(side: Side) -> None:
    peer = Peer()
    side.produce(peer, packed())
    side.admin.ask(DeleteTopicsRequest(topic_names=["plain"], timeout_ms=1000), 5)
    side.worker.do()
    assert [part.error_code for part in peer.parts()] == [Error.UNKNOWN_TOPIC_OR_PARTITION]


def test_no_batch_is_appended_to_a_topic_that_was_recreated_during_the_validation(side: Side) -> None:
    peer = Peer()
    side.produce(peer, packed())
    side.admin.ask(DeleteTopicsRequest(topic_names=["plain"], timeout_ms=1000), 5)
    again = CreatableTopic(name="plain", num_partitions=2, replication_factor=1)
    side.admin.ask(CreateTopicsRequest(topics=[again], timeout_ms=1000), 7)
    side.worker.do()
    assert [part.error_code for part in peer.parts()] == [Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert side.end_offset() == 0


def test_a_request_of_several_batches_is_held_until_the_last_one_is_checked(side: Side) -> None:
    peer = Peer()
    side.produce(peer, packed(), packed())
    side.worker.do()
    assert peer.held
    assert (peer.answers, side.end_offset(0), side.end_offset(1)) == ([], 1, 0)
    side.worker.do()
    assert not peer.held
    assert [part.error_code for part in peer.parts()] == [Error.NONE, Error.NONE]


def test_complete_requests_are_processed_although_their_connection_ends(side: Side) -> None:
    peer = Peer()
    side.produce(peer, packed())
    side.broker.disconnected(peer)
    side.worker.do()
    assert side.end_offset() == 1
    assert side.broker.request_memory.taken_bytes == 0


def test_an_unexpected_validation_failure_ends_only_its_connection(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    peer, other = Peer(), Peer()
    with monkeypatch.context() as patch:
        patch.setattr("oncelog.records.validation.record_area", lambda *_: 1 // 0)
        side.produce(peer, packed())
        side.worker.do()
    assert peer.closed is not None
    assert side.broker.request_memory.taken_bytes == 0
    side.produce(other, packed())
    side.worker.do()
    assert [part.error_code for part in other.parts()] == [Error.NONE]


def test_a_batch_of_a_transaction_is_verified_when_it_is_checked(side: Side) -> None:
    """The transaction may end meanwhile: verified earlier, the batch would be accepted after its marker."""
    side.admin.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["id"]), 4)
    made = side.admin.ask(InitProducerIdRequest("id", 60_000), 4)
    pid, epoch, peer = made.producer_id, made.producer_epoch, Peer()
    identity = {"producer_id": pid, "producer_epoch": epoch, "transactional": True}
    side.produce(peer, packed(base_sequence=0, **identity), transactional_id="id", version=12)
    side.worker.do()
    assert [part.error_code for part in peer.parts(12)] == [Error.NONE]
    late = Peer()
    side.produce(late, packed(base_sequence=1, **identity), transactional_id="id", version=12)
    assert side.admin.ask(EndTxnRequest("id", pid, epoch, True), 5).error_code == Error.NONE
    end = side.end_offset()
    side.worker.do()
    assert [part.error_code for part in late.parts(12)] == [Error.INVALID_PRODUCER_EPOCH]
    assert side.end_offset() == end


def test_batches_beyond_the_validation_limit_are_checked_on_the_event_loop(side: Side) -> None:
    """A client that sends, disconnects and reconnects does not fill a queue ahead of the others."""
    batch, most = packed(), MAX_IN_VALIDATION_BYTES // unpacked_limit(1_048_588)
    for _ in range(most):
        gone = Peer()
        side.produce(gone, batch)
        side.broker.disconnected(gone)
    assert len(side.worker.jobs) == most
    peer = Peer()
    side.produce(peer, batch)
    assert [part.error_code for part in peer.parts()] == [Error.NONE]
    assert len(side.worker.jobs) == most
    side.worker.do()
    later = Peer()
    side.produce(later, batch)
    assert len(side.worker.jobs) == most
    while side.worker.jobs:
        side.worker.do()
    assert [part.error_code for part in later.parts()] == [Error.NONE]
    assert side.end_offset() == most + 2


def test_the_last_of_several_entries_for_a_partition_counts(side: Side) -> None:
    """Apache Kafka 4.4.0 answers so: it puts the entries into a map."""
    peer = Peer()
    two, three = (bytes(encode_batch([Record(n, NOW_MS, b"k", b"v") for n in range(count)])) for count in (2, 3))
    side.produce(peer, packed(), two, packed(), three, indexes=[0, 1, 0, 0])
    assert not side.worker.jobs
    assert [(part.index, part.base_offset) for part in peer.parts()] == [(0, 0), (1, 0)]
    assert (side.end_offset(0), side.end_offset(1)) == (3, 2)


@pytest.mark.parametrize(("before", "after"), [("CreateTime", "LogAppendTime"), ("LogAppendTime", "CreateTime")])
def test_the_answer_reports_the_append_time_by_the_timestamp_type_when_the_batch_arrived(
    side: Side, before: str, after: str
) -> None:
    partition = side.broker.partition(TopicPartition("plain", 0))
    assert partition is not None
    partition.log.update_config(replace(partition.log.config, message_timestamp_type=before))
    peer = Peer()
    side.produce(peer, packed())
    partition.log.update_config(replace(partition.log.config, message_timestamp_type=after))
    side.broker.now_ms = NOW_MS + 500  # the check takes that long
    side.worker.do()
    assert [part.log_append_time_ms for part in peer.parts()] == [-1 if before == "CreateTime" else NOW_MS]


@pytest.mark.parametrize("step_ms", [0, -3_600_000, 3_600_000])
def test_the_timeout_begins_when_the_batch_is_appended(step_ms: int) -> None:
    """As in Apache Kafka; a batch that waited for others' checks was refused although it was being committed."""
    side = Side(**{"oncelog.flush.policy": "commit"})
    peer = Peer()
    side.produce(peer, packed())
    side.broker.clock_was_set(step_ms)
    now_ms = NOW_MS + step_ms + 40_000
    side.broker.now_ms = now_ms
    side.worker.do()
    side.broker.advance(now_ms + 29_999)
    assert (peer.answers, side.end_offset()) == ([], 1)
    side.broker.advance(now_ms + 30_000)
    assert [part.error_code for part in peer.parts()] == [Error.REQUEST_TIMED_OUT]
    side.broker.stop(now_ms)


@pytest.mark.parametrize("fails", [False, True])
def test_a_request_for_many_partitions_has_few_batches_under_validation_at_a_time(
    side: Side, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, peer, most = 400, Peer(), 0
    topic = CreatableTopic(name="many", num_partitions=count, replication_factor=1)
    side.admin.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
    contexts: list[RequestContext] = []
    validate = side.broker.validation_thread.validate

    def noted(worker: Background, batch: PendingBatch, now_ms: int, max_bytes: int) -> Park[Checked]:
        contexts.append(batch.context)
        return validate(worker, batch, now_ms, max_bytes)

    monkeypatch.setattr(side.broker.validation_thread, "validate", noted)
    if fails:
        monkeypatch.setattr("oncelog.records.validation.record_area", lambda *_: 1 // 0)
    side.produce(peer, *[packed()] * count, topic="many", indexes=range(count))
    while side.worker.jobs or side.broker.tasks:
        side.broker.tasks.finish()
        most = max(most, contexts[0].parking.count if contexts[0].parking else 0)
        if side.worker.jobs:
            side.worker.do()
    assert MAX_PARKS / 2 < most <= MAX_PARKS
    if fails:
        assert peer.closed is not None
    else:
        assert [(part.index, part.base_offset) for part in peer.parts()] == [(index, 0) for index in range(count)]
    assert side.broker.request_memory.taken_bytes == 0


@pytest.mark.parametrize("refused", ["damaged", "unforeseen"])
def test_no_batch_of_an_idempotent_producer_overtakes_a_refused_batch(
    side: Side, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next request's sequence shows a gap, as in Apache Kafka."""
    peer, producer = Peer(), {"producer_id": 5, "producer_epoch": 0}
    side.produce(peer, bytes(encode_batch([Record(0, NOW_MS, b"k", b"v")], base_sequence=0, **producer)))
    second = bytearray(packed(base_sequence=1, **producer))
    third = packed(base_sequence=2, **producer)
    if refused == "damaged":
        second[-1] ^= 0xFF
    with monkeypatch.context() as patch:
        if refused == "unforeseen":
            whole, fails = vars(validation)["record_area"], [True]
            patch.setattr(
                "oncelog.records.validation.record_area",
                lambda *args: 1 // 0 if fails and fails.pop() else whole(*args),
            )
        side.produce(peer, bytes(second))
        side.produce(Peer(), third)
        while side.worker.jobs:
            side.worker.do()
    assert side.end_offset() == 1
