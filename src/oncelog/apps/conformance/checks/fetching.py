"""Checks of fetches: how long a fetch waits, its limits in bytes, leader epochs, and fetch sessions (KIP-74, KIP-227,
KIP-320)."""

from __future__ import annotations

from oncelog.apps.conformance.expect import among, holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.batches import batch, now_ms
from oncelog.apps.conformance.raw.bodies import READ_COMMITTED, RawFetchPosition
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer
from oncelog.apps.conformance.registry import PROTOCOL, check, each
from oncelog.errors import Error

OUT_OF_RANGE = Error.OFFSET_OUT_OF_RANGE
UNKNOWN_TOPIC = Error.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_LEADER = Error.UNKNOWN_LEADER_EPOCH


@check(PROTOCOL)
def a_fetch_that_does_not_wait_gets_what_is_there(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    connection.produce(topic, batch(b"a"))
    same([item.base_offset for item in connection.fetch(topic, max_wait_ms=0).batches], [0])


@check(PROTOCOL)
def a_fetch_waits_for_min_bytes_and_no_longer_than_max_wait(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    connection.produce(topic, batch(b"a"))
    begin = now_ms()
    found = connection.fetch(topic, min_bytes=100_000, max_wait_ms=250)
    holds(now_ms() - begin >= 245, "the fetch waits for max.wait")
    same(len(found.batches), 1)


@check(PROTOCOL)
def a_waiting_fetch_wakes_when_a_record_arrives(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    with connection.another() as reader:
        begin = now_ms()
        number = reader.send_fetch({(topic, 0): RawFetchPosition(0)}, max_wait_ms=15_000)
        connection.produce(topic, batch(b"a"))
        found = reader.receive_fetch(number).partitions[topic, 0]
        same([item.value for item in found.batches[0].records()], [b"a"])
        holds(now_ms() - begin < 10_000, "the fetch does not wait for max.wait")


@check("KIP-98")
def a_waiting_read_committed_fetch_wakes_when_the_transaction_ends(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic = fixture.topic()
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    producer.send(topic, b"a")
    with connection.another() as reader:
        begin = now_ms()
        number = reader.send_fetch({(topic, 0): RawFetchPosition(0)}, max_wait_ms=15_000, isolation=READ_COMMITTED)
        producer.commit()
        found = reader.receive_fetch(number).partitions[topic, 0]
        same(len(found.batches), 2)
        holds(now_ms() - begin < 10_000, "the fetch does not wait for max.wait")


@check(PROTOCOL)
def a_fetch_of_unknown_partitions_alone_does_not_wait(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    begin = now_ms()
    answer = connection.fetch_all(
        {(topic, 8): RawFetchPosition(0), (topic, 9): RawFetchPosition(0)}, max_wait_ms=15_000
    )
    same([found.error for found in answer.partitions.values()], [UNKNOWN_TOPIC] * 2)
    holds(now_ms() - begin < 10_000, "the fetch does not wait for max.wait")


@check(PROTOCOL)
def a_fetch_waits_though_one_of_its_partitions_is_unknown(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    begin = now_ms()
    answer = connection.fetch_all({(topic, 0): RawFetchPosition(0), (topic, 9): RawFetchPosition(0)}, max_wait_ms=250)
    same(answer.partitions[topic, 9].error, UNKNOWN_TOPIC)
    holds(now_ms() - begin >= 245, "the fetch waits for max.wait")


@check(PROTOCOL)
def a_fetch_of_which_one_offset_is_out_of_range_does_not_wait(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    connection.create_topic(unique_name, 2)
    begin = now_ms()
    answer = connection.fetch_all(
        {(unique_name, 0): RawFetchPosition(0), (unique_name, 1): RawFetchPosition(9)}, max_wait_ms=15_000
    )
    same(answer.partitions[unique_name, 1].error, OUT_OF_RANGE)
    holds(now_ms() - begin < 10_000, "the fetch does not wait for max.wait")


@check(PROTOCOL)
def a_fetch_out_of_range_does_not_wait(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    for offset in (1, -1, 2**40):
        found = connection.fetch(topic, offset, max_wait_ms=15_000)
        same(found.error, OUT_OF_RANGE)
        same(found.batches, [])
        same((found.high_watermark, found.last_stable_offset), (-1, -1))


@check("KIP-74")
@each("limit", values=[0, 1, 70])
def at_least_one_batch_is_given_whatever_the_limit(fixture: Fixture, limit: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    for value in (b"a" * 200, b"b" * 200):
        connection.produce(topic, batch(value))
    for limits in ({"partition_max_bytes": limit}, {"max_bytes": limit}):
        found = connection.fetch(topic, **limits)
        same([item.base_offset for item in found.batches], [0])


@check("KIP-74")
def the_byte_limit_is_for_all_partitions_together(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    connection.create_topic(unique_name, 3)
    for index in range(3):
        connection.produce(unique_name, batch(bytes(1000)), index)
    answer = connection.fetch_all({(unique_name, index): RawFetchPosition(0) for index in range(3)}, max_bytes=1500)
    sizes = [len(answer.partitions[unique_name, index].records or b"") for index in range(3)]
    whole = len(batch(bytes(1000)))
    same(sizes[0], whole)
    holds(sizes[1] < whole, "the second partition gets less than a whole batch")
    same(sizes[2], 0)


@check(PROTOCOL)
def a_batch_is_given_whole_when_the_offset_is_within_it(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    connection.produce(topic, batch(b"a", b"b", b"c"))
    (found,) = connection.fetch(topic, 2).batches
    same((found.base_offset, found.count), (0, 3))


@check(PROTOCOL)
def a_fetch_at_the_end_is_empty(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    connection.produce(topic, batch(b"a"))
    found = connection.fetch(topic, 1)
    same((found.error, found.high_watermark, found.records), (0, 1, b""))


@check("KIP-320")
@each("epoch", "error", values=[(-1, 0), (0, 0), (1, UNKNOWN_LEADER), (99, UNKNOWN_LEADER)])
def the_leader_epoch_is_checked(fixture: Fixture, epoch: int, error: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    answer = connection.fetch_all({(topic, 0): RawFetchPosition(0, leader_epoch=epoch)})
    same(answer.partitions[topic, 0].error, error)
    same(connection.list_offset(topic, leader_epoch=epoch).error_code, error)


@check("KIP-595")
def a_last_fetched_epoch_that_the_leader_does_not_know(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    connection.produce(topic, batch(b"a", b"b"))
    known = connection.fetch_all({(topic, 0): RawFetchPosition(1, last_fetched_epoch=0)}).partitions[topic, 0]
    same((known.error, known.diverging, len(known.batches)), (0, None, 1))
    newer = connection.fetch_all({(topic, 0): RawFetchPosition(1, last_fetched_epoch=7)}).partitions[topic, 0]
    among(newer.error, (0, OUT_OF_RANGE))
    same(newer.batches, [])


# --- sessions


@check("KIP-227")
def a_session_tells_only_what_is_new(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    connection.create_topic(unique_name, 3)
    everything = {(unique_name, index): RawFetchPosition(0) for index in range(3)}
    full = connection.fetch_all(everything, session_epoch=0)
    holds(full.session_id > 0, "the broker opens a session")
    same(set(full.partitions), set(everything))
    nothing = connection.fetch_all({}, session_id=full.session_id, session_epoch=1)
    same((nothing.error, nothing.session_id, nothing.partitions), (0, full.session_id, {}))
    connection.produce(unique_name, batch(b"a"), 1)
    news = connection.fetch_all({}, session_id=full.session_id, session_epoch=2)
    same(set(news.partitions), {(unique_name, 1)})
    same(len(news.partitions[unique_name, 1].batches), 1)
    again = connection.fetch_all({}, session_id=full.session_id, session_epoch=3)
    same(set(again.partitions), {(unique_name, 1)})
    moved = {(unique_name, 1): RawFetchPosition(1)}
    same(connection.fetch_all(moved, session_id=full.session_id, session_epoch=4).partitions, {})
    forgotten = connection.fetch_all(
        {}, session_id=full.session_id, session_epoch=5, forgotten=[(unique_name, 2), (unique_name, 0)]
    )
    same(forgotten.partitions, {})
    connection.produce(unique_name, batch(b"b"), 2)
    same(connection.fetch_all({}, session_id=full.session_id, session_epoch=6).partitions, {})


@check("KIP-227")
def a_session_tells_of_new_partitions_and_of_errors(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    connection.create_topic(unique_name, 2)
    full = connection.fetch_all({(unique_name, 0): RawFetchPosition(0)}, session_epoch=0)
    added = connection.fetch_all(
        {(unique_name, 1): RawFetchPosition(0), (unique_name, 5): RawFetchPosition(0)},
        session_id=full.session_id,
        session_epoch=1,
    )
    same(set(added.partitions), {(unique_name, 1), (unique_name, 5)})
    same(added.partitions[unique_name, 5].error, UNKNOWN_TOPIC)
    more = connection.fetch_all({}, session_id=full.session_id, session_epoch=2)
    same({key for key, found in more.partitions.items() if found.error}, {(unique_name, 5)})


@check("KIP-227")
@each("epoch", "error", values=[(2, 71), (7, 71)])
def a_session_with_the_wrong_epoch(fixture: Fixture, epoch: int, error: int) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    full = connection.fetch_all({(topic, 0): RawFetchPosition(0)}, session_epoch=0)
    answer = connection.fetch_all({}, session_id=full.session_id, session_epoch=epoch)
    same((answer.error, answer.session_id, answer.partitions), (error, 0, {}))
    same(connection.fetch_all({}, session_id=full.session_id, session_epoch=1).error, 0)


@check("KIP-227")
def a_session_that_is_not_there(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    for position in ({}, {(topic, 0): RawFetchPosition(0)}):
        same(connection.fetch_all(position, session_id=4242, session_epoch=3).error, 70)


@check("KIP-227")
def a_session_ends_with_the_final_epoch(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    full = connection.fetch_all({(topic, 0): RawFetchPosition(0)}, session_epoch=0)
    last = connection.fetch_all({(topic, 0): RawFetchPosition(0)}, session_id=full.session_id, session_epoch=-1)
    same((last.error, last.session_id, set(last.partitions)), (0, 0, {(topic, 0)}))
    same(connection.fetch_all({}, session_id=full.session_id, session_epoch=1).error, 70)


@check("KIP-227")
def a_session_may_be_started_again(fixture: Fixture) -> None:
    connection = fixture.connection
    topic = fixture.topic()
    first = connection.fetch_all({(topic, 0): RawFetchPosition(0)}, session_epoch=0)
    second = connection.fetch_all({(topic, 0): RawFetchPosition(0)}, session_id=first.session_id, session_epoch=0)
    same(second.error, 0)
    holds(second.session_id not in (0, first.session_id), "the new session has an id of its own")
    same(connection.fetch_all({}, session_id=first.session_id, session_epoch=1).error, 70)


@check("KIP-516")
def a_session_by_topic_ids(fixture: Fixture) -> None:
    connection = fixture.connection
    unique_name = fixture.name
    topic_id = connection.create_topic(unique_name)
    full = connection.fetch_all({(topic_id, 0): RawFetchPosition(0)}, version=13, session_epoch=0)
    connection.produce(unique_name, batch(b"a"))
    news = connection.fetch_all({}, version=13, session_id=full.session_id, session_epoch=1)
    same(set(news.partitions), {(topic_id, 0)})
    by_name = connection.fetch_all({}, version=12, session_id=full.session_id, session_epoch=2)
    same(by_name.error, 106)
    unknown = connection.fetch_all({(b"u" * 16, 0): RawFetchPosition(0)}, version=13)
    same(unknown.partitions[b"u" * 16, 0].error, 100)
