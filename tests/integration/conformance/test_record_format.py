"""Checks 1-10: what a broker makes of record batches, and each reason for which Produce refuses one."""

from __future__ import annotations

import struct

import cramjam
import lz4.frame
import pytest
import zstandard

from oncelog.apps.conformance.checks.isolation import write_marker
from oncelog.apps.conformance.raw.batches import (
    CONTROL,
    GZIP,
    LOG_APPEND_TIME,
    LZ4,
    SNAPPY,
    TRANSACTIONAL,
    XERIAL,
    ZSTD,
    batch,
    now_ms,
    record,
)
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, find_coordinator
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.errors import Error
from tests.conftest import RunningBroker
from tests.integration.conformance.nodes import OncelogNode

INVALID_RECORD, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP = 87, 2, 10, 32
MAX_BATCH_BYTES = 1048588


def control_batch(pid: int, epoch: int, *, commit: bool, coordinator_epoch: int = 0) -> bytes:
    """An end-of-transaction marker as a coordinator writes it."""
    marker = record(struct.pack(">hi", 0, coordinator_epoch), struct.pack(">hh", 0, int(commit)))
    return batch(records=marker, count=1, pid=pid, epoch=epoch, attributes=TRANSACTIONAL | CONTROL)


def test_check_01_base_offset_and_leader_epoch_are_outside_the_crc(connection: RawConnection, topic: str) -> None:
    sent = batch(b"a", b"b", leader_epoch=-1)
    connection.produce(topic, batch(b"first"))
    answer = connection.produce(topic, sent)
    stored = connection.fetch(topic, answer.base_offset).batches[0]
    assert (stored.base_offset, stored.leader_epoch) == (1, 0)
    assert stored.crc == struct.unpack_from(">I", sent, 17)[0]
    assert stored.crc_right


def test_check_01_a_changed_attribute_breaks_the_crc(connection: RawConnection, topic: str) -> None:
    sent = bytearray(batch(b"a"))
    sent[22] |= 0x40
    assert connection.produce(topic, bytes(sent)).error == CORRUPT_MESSAGE
    assert connection.list_offset(topic).offset == 0


def test_check_02_a_wrong_max_timestamp_is_stored_as_the_true_one(connection: RawConnection, topic: str) -> None:
    start = now_ms()
    sent = batch(b"a", b"b", b"c", timestamps=[start, start + 7, start + 3], max_timestamp=start + 500)
    assert connection.produce(topic, sent).error == 0
    (stored,) = connection.fetch(topic).batches
    assert stored.max_timestamp == start + 7
    assert stored.crc_right
    assert stored.crc != struct.unpack_from(">I", sent, 17)[0]
    assert [item.timestamp for item in stored.records()] == [start, start + 7, start + 3]


def test_check_03_a_log_append_time_topic_returns_the_time_of_the_append(
    connection: RawConnection, unique_name: str
) -> None:
    connection.create_topic(unique_name, message_timestamp_type="LogAppendTime")
    before = now_ms()
    answer = connection.produce(unique_name, batch(b"a", b"b", timestamps=[5, 9]))
    assert answer.error == 0
    assert before <= answer.log_append_time <= now_ms()
    (stored,) = connection.fetch(unique_name).batches
    assert stored.attributes & LOG_APPEND_TIME
    assert stored.crc_right
    assert stored.max_timestamp == answer.log_append_time
    assert stored.base_timestamp == 5
    assert [item.timestamp for item in stored.records()] == [answer.log_append_time] * 2


def test_the_answer_to_a_produce_into_a_create_time_topic_has_no_append_time(
    connection: RawConnection, topic: str
) -> None:
    answer = connection.produce(topic, batch(b"a"))
    assert (answer.log_append_time, answer.log_start_offset) == (-1, 0)


def test_check_04_two_batches_for_a_partition_are_refused(connection: RawConnection, topic: str) -> None:
    answer = connection.produce(topic, batch(b"a") + batch(b"b"))
    assert answer.error == INVALID_RECORD
    assert connection.list_offset(topic).offset == 0


@pytest.mark.parametrize(("excess", "error"), [(0, 0), (1, MESSAGE_TOO_LARGE)])
def test_check_05_the_largest_batch_is_1048588_bytes(
    connection: RawConnection, topic: str, excess: int, error: int
) -> None:
    overhead = len(batch(bytes(1_000_000))) - 1_000_000
    data = batch(bytes(MAX_BATCH_BYTES + excess - overhead))
    assert len(data) == MAX_BATCH_BYTES + excess
    assert connection.produce(topic, data).error == error


def test_check_06_records_without_a_key_in_a_compacted_topic_are_reported_by_index(
    connection: RawConnection, unique_name: str
) -> None:
    connection.create_topic(unique_name, cleanup_policy="compact")
    mixed = record(b"x", b"k") + record(b"y", None, offset_delta=1) + record(b"z", None, offset_delta=2)
    answer = connection.produce(unique_name, batch(records=mixed, count=3))
    assert answer.error == INVALID_RECORD
    assert [index for index, _ in answer.record_errors] == [1, 2]
    assert answer.base_offset == -1
    assert connection.list_offset(unique_name).offset == 0
    assert connection.produce(unique_name, batch(records=record(b"x", b"k"), count=1)).error == 0


@pytest.mark.parametrize("pid", [-1, 12345])
def test_check_07_a_control_batch_from_a_client_is_refused(connection: RawConnection, topic: str, pid: int) -> None:
    data = batch(b"a", pid=pid, epoch=min(pid, 0), sequence=min(pid, 0), attributes=CONTROL)
    assert connection.produce(topic, data).error == INVALID_RECORD
    assert connection.list_offset(topic).offset == 0


def test_check_07_a_marker_from_a_client_is_refused(connection: RawConnection, topic: str, unique_name: str) -> None:
    producer = RawTransactionalProducer(connection, unique_name).init()
    producer.send(topic, b"a")
    for commit in (True, False):
        marker = control_batch(producer.pid, producer.epoch, commit=commit)
        assert connection.produce(topic, marker, transactional_id=producer.id).error == INVALID_RECORD
    assert connection.list_offset(topic).offset == 1
    producer.commit()


def _plain(count: int) -> bytes:
    return b"".join(record(f"value-{i}".encode() * 20, offset_delta=i) for i in range(count))


def _xerial(data: bytes) -> bytes:
    blocks = [bytes(cramjam.snappy.compress_raw(data[at : at + 1000])) for at in range(0, len(data), 1000)]
    return XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def _gzip(data: bytes) -> bytes:
    return bytes(cramjam.gzip.compress(data))


COMPRESSORS = {
    "gzip": (GZIP, _gzip),
    "snappy-raw": (SNAPPY, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "snappy-xerial": (SNAPPY, _xerial),
    "lz4-plain": (LZ4, lambda data: lz4.frame.compress(data, store_size=False, block_linked=False)),
    "lz4-content-size": (LZ4, lambda data: lz4.frame.compress(data, store_size=True, block_linked=False)),
    "lz4-checksums": (
        LZ4,
        lambda data: lz4.frame.compress(data, block_linked=False, block_checksum=True, content_checksum=False),
    ),
    "lz4-large-blocks": (
        LZ4,
        lambda data: lz4.frame.compress(data, block_linked=False, block_size=lz4.frame.BLOCKSIZE_MAX4MB),
    ),
    "zstd-size": (ZSTD, lambda data: zstandard.ZstdCompressor().compress(data)),
    "zstd-no-size": (ZSTD, lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data)),
}


@pytest.mark.parametrize("name", COMPRESSORS)
def test_check_08_every_form_of_a_codec_is_read_and_stored_unchanged(
    connection: RawConnection, topic: str, name: str
) -> None:
    codec, compress = COMPRESSORS[name]
    area = compress(_plain(40))
    answer = connection.produce(topic, batch(records=area, count=40, attributes=codec))
    assert answer.error == 0, answer
    (stored,) = connection.fetch(topic).batches
    assert stored.area == area
    assert [item.value for item in stored.records()] == [f"value-{i}".encode() * 20 for i in range(40)]


@pytest.mark.parametrize("name", ["gzip", "snappy-raw", "lz4-plain", "zstd-size"])
def test_check_08_an_invalid_record_within_a_compressed_batch_is_found(
    connection: RawConnection, unique_name: str, name: str
) -> None:
    connection.create_topic(unique_name, cleanup_policy="compact")
    codec, compress = COMPRESSORS[name]
    answer = connection.produce(unique_name, batch(records=compress(_plain(3)), count=3, attributes=codec))
    assert answer.error == INVALID_RECORD
    assert [index for index, _ in answer.record_errors] == [0, 1, 2]


@pytest.mark.parametrize("version", [3, 6])
def test_check_09_zstd_needs_produce_7(connection: RawConnection, topic: str, version: int) -> None:
    area = zstandard.ZstdCompressor().compress(_plain(2))
    data = batch(records=area, count=2, attributes=ZSTD)
    assert connection.produce(topic, data, version=version).error == 76
    assert connection.produce(topic, data, version=7).error == 0


@pytest.mark.parametrize("version", [4, 9])
def test_check_09_zstd_needs_fetch_10(connection: RawConnection, topic: str, version: int) -> None:
    area = zstandard.ZstdCompressor().compress(_plain(2))
    connection.produce(topic, batch(records=area, count=2, attributes=ZSTD))
    old = connection.fetch(topic, version=version)
    new = connection.fetch(topic, version=10)
    assert new.error == 0
    assert new.batches[0].area == area
    assert (old.error, len(old.batches)) == (0, 1)


def test_check_10_a_timestamp_more_than_an_hour_ahead_is_refused(connection: RawConnection, topic: str) -> None:
    near = batch(b"a", timestamp=now_ms() + 3_500_000)
    far = batch(b"a", b"b", timestamps=[now_ms(), now_ms() + 3_700_000])
    assert connection.produce(topic, near).error == 0
    answer = connection.produce(topic, far)
    assert answer.error == INVALID_TIMESTAMP
    assert [index for index, _ in answer.record_errors] == [1]


def test_an_old_timestamp_is_accepted_unless_a_setting_limits_its_age(
    connection: RawConnection, unique_name: str
) -> None:
    connection.create_topic(unique_name)
    assert connection.produce(unique_name, batch(b"a", timestamp=0)).error == 0
    strict = unique_name + "-strict"
    connection.create_topic(strict, message_timestamp_before_max_ms=1000)
    assert connection.produce(strict, batch(b"a", timestamp=now_ms() - 60_000)).error == INVALID_TIMESTAMP


def _with(data: bytes, at: int, layout: str, value: int) -> bytes:
    """The batch with one field changed and its CRC corrected."""
    from crc32c import crc32c

    changed = bytearray(data)
    struct.pack_into(">" + layout, changed, at, value)
    struct.pack_into(">I", changed, 17, crc32c(bytes(changed[21:])))
    return bytes(changed)


def _batches_with_faults() -> dict[str, bytes]:
    good = batch(b"a", b"b", b"c")
    idempotent = batch(b"a", pid=2**40, epoch=0, sequence=0)
    gap = record(b"a") + record(b"b", offset_delta=2)
    backwards = record(b"a", offset_delta=1) + record(b"b", offset_delta=0)
    repeated = record(b"a") + record(b"b")
    return {
        "base offset not 0": _with(good, 0, "q", 5),
        "count 0": batch(records=b"", count=0, last_offset_delta=0),
        "count 0, last offset delta -1": batch(records=b"", count=0, last_offset_delta=-1),
        "count negative": _with(good, 57, "i", -1),
        "count less than the last offset delta tells": _with(good, 57, "i", 2),
        "count more than the last offset delta tells": _with(good, 57, "i", 4),
        "last offset delta too large": _with(good, 23, "i", 9),
        "last offset delta negative": _with(good, 23, "i", -4),
        "fewer records than counted": batch(records=record(b"a"), count=2),
        "more records than counted": batch(records=record(b"a") + record(b"b", offset_delta=1), count=1),
        "offset deltas with a gap": batch(records=gap, count=2, last_offset_delta=2),
        "offset deltas with a gap, count right": batch(records=gap, count=2),
        "offset deltas backwards": batch(records=backwards, count=2),
        "offset deltas repeated": batch(records=repeated, count=2),
        "log append time bit": batch(b"a", attributes=LOG_APPEND_TIME),
        "unknown codec 5": batch(b"a", attributes=5),
        "unknown codec 7": batch(b"a", attributes=7),
        "delete horizon bit": batch(b"a", attributes=0x40),
        "unused bits": batch(b"a", attributes=0x80),
        "crc 0": batch(b"a", crc=0),
        "magic 1": batch(b"a", magic=1),
        "magic 0": batch(b"a", magic=0),
        "magic 3": batch(b"a", magic=3),
        "sequence missing": _with(idempotent, 53, "i", -1),
        "sequence negative": _with(idempotent, 53, "i", -7),
        "epoch missing": _with(idempotent, 51, "h", -1),
        "pid missing, sequence given": batch(b"a", pid=-1, epoch=-1, sequence=4),
        "pid -2": batch(b"a", pid=-2, epoch=0, sequence=0),
        "record shorter than its length": batch(records=varied(record(b"abc"), -1), count=1),
        "record longer than its length": batch(records=varied(record(b"abc"), 1), count=1),
        "header count negative": batch(records=_raw_record(b"\0\0\0\x01\x01\x01"), count=1),
        "header name null": batch(records=_raw_record(b"\0\0\0\x01\x01\x02\x01\x01"), count=1),
        "garbage records": batch(records=b"\xff" * 30, count=1),
        "gzip that is none": batch(records=b"no gzip at all", count=1, attributes=GZIP),
        "snappy that is none": batch(records=b"\xff\xff\xff\xff no snappy", count=1, attributes=SNAPPY),
        "lz4 that is none": batch(records=b"no lz4 at all", count=1, attributes=LZ4),
        "zstd that is none": batch(records=b"no zstd at all", count=1, attributes=ZSTD),
        "batch length one short": _with_length(good, -1),
        "batch length one long": _with_length(good, 1),
        "batch length 0": _with_length(good, -len(good) + 12),
        "batch length negative": _with_length(good, -len(good) + 2),
        "batch length huge": _with_length(good, 2**30),
        "cut in the header": good[:40],
        "cut in the records": good[:-1],
        "eleven bytes": good[:11],
        "one byte": good[:1],
        "no bytes": b"",
        "trailing byte": good + b"\0",
        "trailing bytes": good + bytes(20),
        "empty key and value": batch(records=record(b"", b""), count=1),
        "null key and value": batch(records=record(None, None), count=1),
        "header with null value": batch(records=record(b"v", headers=[(b"h", None)]), count=1),
        "header not UTF-8": batch(records=record(b"v", headers=[(b"\xff\xfe", b"x")]), count=1),
        "record attributes": batch(records=_raw_record(b"\x05\0\0\x01\x01\0"), count=1),
        "timestamps -1": batch(b"a", timestamp=-1),
        "timestamps -5": batch(b"a", timestamp=-5),
        "leader epoch given": batch(b"a", leader_epoch=77),
        "max timestamp -1": batch(b"a", max_timestamp=-1),
    }


def varied(data: bytes, by: int) -> bytes:
    """A record (shorter than 64 bytes) that claims to be longer or shorter than it is."""
    return bytes([data[0] + 2 * by]) + data[1:]


def _raw_record(body: bytes) -> bytes:
    return bytes([2 * len(body)]) + body


def _with_length(data: bytes, by: int) -> bytes:
    (size,) = struct.unpack_from(">i", data, 8)
    return data[:8] + struct.pack(">i", size + by) + data[12:]


FAULTS = _batches_with_faults()

CORRUPT = {
    "crc 0",
    "magic 3",
    "batch length one short",
    "batch length 0",
    "batch length negative",
    "trailing bytes",
}
"""Refused with CORRUPT_MESSAGE."""

ACCEPTED = {
    "offset deltas with a gap, count right",
    "offset deltas backwards",
    "offset deltas repeated",
    "log append time bit",
    "delete horizon bit",
    "unused bits",
    "epoch missing",
    "pid missing, sequence given",
    "pid -2",
    "trailing byte",
    "empty key and value",
    "null key and value",
    "header with null value",
    "header not UTF-8",
    "record attributes",
    "timestamps -1",
    "timestamps -5",
    "leader epoch given",
    "max timestamp -1",
}

UNNAMED = {
    "unknown codec 5": 76,
    "unknown codec 7": 76,
    "garbage records": INVALID_RECORD,
    "gzip that is none": INVALID_RECORD,
    "snappy that is none": INVALID_RECORD,
    "lz4 that is none": INVALID_RECORD,
    "zstd that is none": INVALID_RECORD,
}
"""Apache Kafka fails on these with UNKNOWN_SERVER_ERROR. We say what is wrong; for a producer both errors are fatal."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_batch_is_refused_for_the_reason_for_which_kafka_refuses_it(
    broker: RunningBroker, connection: RawConnection, shared_topic: str, name: str
) -> None:
    is_kafka = not isinstance(broker, OncelogNode)
    expected = INVALID_RECORD
    if name in CORRUPT:
        expected = CORRUPT_MESSAGE
    elif name in ACCEPTED:
        expected = 0
    elif name in UNNAMED:
        expected = -1 if is_kafka else UNNAMED[name]
    before = connection.list_offset(shared_topic).offset
    assert outcome(connection, shared_topic, FAULTS[name])[0] == expected
    assert (connection.list_offset(shared_topic).offset > before) == (expected == 0)


@pytest.mark.parametrize("version", range(3, 13))
def test_a_refusal_is_reported_in_every_version(connection: RawConnection, shared_topic: str, version: int) -> None:
    answer = connection.produce(shared_topic, FAULTS["crc 0"], version=version)
    assert answer.error == CORRUPT_MESSAGE
    assert (answer.base_offset, answer.log_append_time, answer.log_start_offset) == (-1, -1, -1)


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version_of_produce_appends(connection: RawConnection, unique_name: str, version: int) -> None:
    topic_id = connection.create_topic(unique_name)
    named: str | bytes = topic_id if version >= 13 else unique_name
    first = connection.produce(named, batch(b"a", b"b"), version=version)
    second = connection.produce(named, batch(b"c"), version=version, acks=1)
    assert (first.error, first.base_offset, second.error, second.base_offset) == (0, 0, 0, 2)
    assert (first.log_start_offset, second.log_start_offset) == ((-1, -1) if version < 5 else (0, 0))
    assert [found.value for found in connection.committed_records(unique_name)] == [b"a", b"b", b"c"]


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_of_fetch_reads(connection: RawConnection, unique_name: str, version: int) -> None:
    topic_id = connection.create_topic(unique_name)
    connection.produce(unique_name, batch(b"a", b"b"))
    named: str | bytes = topic_id if version >= 13 else unique_name
    found = connection.fetch(named, version=version)
    assert (found.error, found.high_watermark, found.last_stable_offset) == (0, 2, 2)
    assert found.log_start_offset == (-1 if version < 5 else 0)
    assert [record.value for record in found.batches[0].records()] == [b"a", b"b"]


def test_produce_to_a_missing_topic_or_partition_is_refused(connection: RawConnection, unique_name: str) -> None:
    assert connection.produce(unique_name, batch(b"a")).error == 3
    assert connection.produce(bytes(15) + b"x", batch(b"a"), version=13).error == 100
    connection.create_topic(unique_name)
    assert connection.produce(unique_name, batch(b"a"), partition=7).error == 3
    assert connection.produce(unique_name, batch(b"a"), partition=-1).error == 3


def test_produce_with_invalid_acks_is_refused(connection: RawConnection, topic: str) -> None:
    for acks in (2, -2, 100):
        assert connection.produce(topic, batch(b"a"), acks=acks).error == 21
    assert connection.list_offset(topic).offset == 0


def test_produce_without_acks_is_not_answered(connection: RawConnection, topic: str) -> None:
    connection.send_produce({(topic, 0): batch(b"a")}, acks=0)
    assert connection.produce(topic, batch(b"b")).base_offset == 1


@pytest.mark.parametrize("fault", ["crc", "unknown topic", "base offset"])
def test_produce_without_acks_that_fails_ends_the_connection(
    connection: RawConnection, topic: str, unique_name: str, fault: str
) -> None:
    with connection.another() as other:
        name = unique_name + "-other" if fault == "unknown topic" else topic
        data = batch(b"a", base_offset=4) if fault == "base offset" else batch(b"a", crc=0)
        other.send_produce({(name, 0): data}, acks=0)
        with pytest.raises(ConnectionClosed):
            other.receive_frame()
    assert connection.produce(topic, batch(b"b")).error == 0


def test_one_refused_partition_does_not_prevent_writes_to_the_others(
    connection: RawConnection, unique_name: str
) -> None:
    connection.create_topic(unique_name, 3)
    answers = connection.produce_all(
        {(unique_name, 0): batch(b"a"), (unique_name, 1): batch(b"b", crc=0), (unique_name, 2): batch(b"c")}
    )
    assert [answers[unique_name, index].error for index in range(3)] == [0, CORRUPT_MESSAGE, 0]


def test_clients_cannot_produce_to_an_internal_topic(connection: RawConnection) -> None:
    find_coordinator(connection, "any", 1)
    find_coordinator(connection, "any", 0)
    for name in ("__transaction_state", "__consumer_offsets"):
        assert connection.produce(name, batch(b"a")).error == 17


def test_a_produce_without_topics_is_answered_without_topics(connection: RawConnection) -> None:
    assert connection.produce_all({}) == {}


def test_a_batch_of_another_codec_is_compressed_again_for_a_topic_with_a_codec(
    connection: RawConnection, unique_name: str
) -> None:
    connection.create_topic(unique_name, compression_type="zstd")
    area = _gzip(_plain(30))
    assert connection.produce(unique_name, batch(records=area, count=30, attributes=GZIP)).error == 0
    assert connection.produce(unique_name, batch(b"plain")).error == 0
    first, second = connection.fetch(unique_name).batches
    assert (first.attributes & 7, second.attributes & 7) == (ZSTD, ZSTD)
    assert first.crc_right
    assert second.crc_right
    assert [found.value for found in first.records()] == [f"value-{i}".encode() * 20 for i in range(30)]
    assert second.records()[0].value == b"plain"


def test_a_record_set_larger_than_a_segment_is_refused(connection: RawConnection, unique_name: str) -> None:
    connection.create_topic(unique_name, segment_bytes=1048576, max_message_bytes=2_000_000)
    assert connection.produce(unique_name, batch(bytes(1_100_000))).error == 18
    assert connection.produce(unique_name, batch(bytes(1_000_000))).error == 0


def outcome(connection: RawConnection, topic: str, data: bytes | None, version: int = 11) -> tuple[object, list[int]]:
    """The error and the indexes of the wrong records, or "closed"."""
    with connection.another() as other:
        try:
            answer = other.produce(topic, data, version=version)
        except ConnectionClosed:
            return "closed", []
    return answer.error, [index for index, _ in answer.record_errors]


def test_a_marker_without_a_producer_id_is_refused(connection: RawConnection, topic: str) -> None:
    """WriteTxnMarkers with producer id -1, sent by an operator, left a control batch without a producer in the log."""
    assert connection.list_offset(topic).offset == 0
    assert write_marker(connection, topic, -1, 0) == Error.UNKNOWN_SERVER_ERROR
    assert connection.list_offset(topic).offset == 0
