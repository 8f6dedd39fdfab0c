"""Incremental fetch sessions follow KIP-227."""

import pytest

from oncelog.broker.core.fetching import fetch_sessions
from oncelog.broker.core.fetching.fetch_sessions import FetchSession, FetchSessionCache
from oncelog.errors import Error
from oncelog.protocol.fetch_fast import FetchPosition, PartitionKey
from tests.support.ports import CountingRandom


def position(offset: int = 0) -> FetchPosition:
    return FetchPosition(0, -1, offset, -1, -1, 1024)


def opened(cache: FetchSessionCache, now_ms: int = 0) -> FetchSession:
    session = cache.open({("t", b"", 0): position()}, False, now_ms)
    assert session is not None
    return session


def test_a_new_session_expects_epoch_one_and_then_each_next_epoch() -> None:
    cache = FetchSessionCache(10, CountingRandom())
    session = opened(cache)
    assert cache.resume(session.session_id, 2, False, 0) is Error.INVALID_FETCH_SESSION_EPOCH
    assert cache.resume(session.session_id, 1, False, 0) is session
    assert cache.resume(session.session_id, 1, False, 0) is Error.INVALID_FETCH_SESSION_EPOCH
    assert cache.resume(session.session_id, 2, False, 0) is session


def test_the_epoch_of_a_fetch_session_wraps_to_1() -> None:
    session = opened(FetchSessionCache(1, CountingRandom()))
    session.epoch = 2**31 - 1
    session.next_epoch()
    assert session.epoch == 1


def test_a_fetch_with_an_unknown_session_is_refused() -> None:
    assert FetchSessionCache(1, CountingRandom()).resume(9, 1, False, 0) is Error.FETCH_SESSION_ID_NOT_FOUND


def test_a_fetch_session_cannot_switch_between_topic_names_and_topic_ids() -> None:
    cache = FetchSessionCache(1, CountingRandom())
    session = opened(cache)
    assert cache.resume(session.session_id, 1, True, 0) is Error.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_full_session_cache_replaces_only_a_session_that_was_idle_for_two_minutes() -> None:
    cache = FetchSessionCache(1, CountingRandom())
    old = opened(cache, now_ms=0)
    assert cache.open({}, False, 119_999) is None
    new = cache.open({}, False, 120_000)
    assert new is not None
    assert cache.resume(old.session_id, 1, False, 120_000) is Error.FETCH_SESSION_ID_NOT_FOUND


def test_the_update_of_a_fetch_session_changes_adds_and_removes_partitions() -> None:
    session = opened(FetchSessionCache(1, CountingRandom()))
    key, sent = ("t", b"", 0), (0, 5, 5, 0)
    assert session.is_news(key, sent)
    session.update({key: position(7), ("t", b"", 1): position()}, [])
    assert session.partitions[key].fetch_offset == 7
    assert not session.is_news(key, sent)
    session.update({}, [key])
    assert list(session.partitions) == [("t", b"", 1)]
    session.update({key: position(7)}, [])
    assert session.is_news(key, sent), "what was sent before it left the session does not count"


def test_a_partition_that_had_data_is_served_last_in_the_next_fetch() -> None:
    session = opened(FetchSessionCache(1, CountingRandom()))
    session.update({("t", b"", 1): position()}, [])
    session.serve_last(("t", b"", 0))
    assert list(session.partitions) == [("t", b"", 1), ("t", b"", 0)]


def many(count: int, topic: str = "t") -> dict[PartitionKey, FetchPosition]:
    return {(topic, b"", index): position() for index in range(count)}


def test_all_fetch_sessions_together_hold_a_bounded_number_of_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may name any number of nonexistent partitions, in a thousand sessions."""
    monkeypatch.setattr(fetch_sessions, "MAX_PARTITIONS", 10)
    cache = FetchSessionCache(1000, CountingRandom())
    first = cache.open(many(6), False, 0)
    assert first is not None
    assert cache.open(many(5), False, 0) is None
    assert cache.open(many(1, "x" * 1200), False, 0) is None, "long names count for more"
    second = cache.open(many(4), False, 0)
    assert second is not None
    cache.close(first.session_id)
    assert cache.open(many(6), False, 0) is not None


def test_unused_sessions_are_evicted_for_new_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that opened large sessions and left took their room from everybody else for good."""
    monkeypatch.setattr(fetch_sessions, "MAX_PARTITIONS", 10)
    cache = FetchSessionCache(1000, CountingRandom())
    left = [cache.open(many(4), False, at) for at in (0, 1)]
    used = cache.open(many(2), False, 100_000)
    assert used is not None
    assert cache.open(many(11), False, 200_000) is None
    assert len(cache) == 3, "what could never fit costs nobody his session"
    assert cache.open(many(5), False, 119_999) is None
    assert cache.open(many(4), False, 120_000) is not None
    assert cache.evictions == 1
    first, second = (session.session_id for session in left if session is not None)
    assert cache.resume(first, 1, False, 120_000) is Error.FETCH_SESSION_ID_NOT_FOUND
    assert cache.resume(used.session_id, 1, False, 130_000) is used
    assert cache.update(used, many(6), []), "a session that grows finds room in the same way"
    assert cache.resume(second, 1, False, 130_000) is Error.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_that_exceeds_the_bound_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fetcher starts over, as after a restart of the broker."""
    monkeypatch.setattr(fetch_sessions, "MAX_PARTITIONS", 10)
    cache = FetchSessionCache(1000, CountingRandom())
    session = cache.open(many(8), False, 0)
    assert session is not None
    assert cache.update(session, many(8), [])
    assert cache.update(session, many(2, "u"), [])
    assert cache.update(session, {}, many(2, "u"))
    assert cache.update(session, many(2, "v"), [])
    assert not cache.update(session, many(1, "w"), [])
    assert cache.resume(session.session_id, 1, False, 0) is Error.FETCH_SESSION_ID_NOT_FOUND
    assert cache.open(many(10), False, 0) is not None


def test_a_session_holds_no_more_partitions_than_one_step_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "MAX_PARTITIONS_OF_ONE", 10)
    cache = FetchSessionCache(4, CountingRandom())
    assert cache.open(many(11), uses_topic_ids=False, now_ms=0) is None
    session = cache.open(many(10), uses_topic_ids=False, now_ms=0)
    assert session is not None
    assert cache.update(session, many(10), ())
    assert not cache.update(session, many(1, "other"), ())
    assert len(cache) == 0


def test_a_partition_of_a_deleted_topic_is_forgotten_by_its_id() -> None:
    """Its name is unknown by then; if it stayed, each answer would contain an error for it, which ends the session."""
    cache = FetchSessionCache(1, CountingRandom())
    session = cache.open({("t", b"1" * 16, 0): position(), ("t", b"1" * 16, 1): position()}, True, 0)
    assert session is not None
    assert cache.update(session, {("", b"1" * 16, 1): position(5)}, [("", b"1" * 16, 0), ("", b"2" * 16, 0)])
    assert [(key, at.fetch_offset) for key, at in session.partitions.items()] == [(("t", b"1" * 16, 1), 5)]
    assert session.weight == 1
