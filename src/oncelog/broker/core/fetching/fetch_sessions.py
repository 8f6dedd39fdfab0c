"""Incremental fetch sessions (KIP-227): the partitions that a client reads, and the last answer for each.

Used only by ``apis.data.fetch``. A session holds the partitions in the order in which they are served; a partition that
had data moves to the end, so that no partition starves if ``max_bytes`` is small. Source: Kafka's ``FetchSession``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain

from oncelog.errors import Error
from oncelog.protocol.fetch_fast import FetchPosition, PartitionKey
from oncelog.runtime.ports import Random

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1

MAX_PARTITIONS = 250_000
"""Limit on the partitions of all sessions: each takes a third of a kilobyte, and a client may name any number of
partitions that do not exist. A client that gets no session names its partitions in each request."""
MAX_PARTITIONS_OF_ONE = 21_000
"""Limit on the partitions of one session, all of which are read in one step: as many as a request may name."""
NAME_UNIT = 256
"""Every 256 characters of a topic's name count as one more partition towards the limits; valid names are shorter."""

Reported = tuple[int, int, int, int]
"""The values last sent to a client for a partition: error, high watermark, last stable offset, log start offset."""


@dataclass(slots=True, eq=False, repr=False)
class FetchSession:
    """The partitions that one client reads with incremental fetches; the next request must have the session epoch
    ``epoch``."""

    session_id: int
    uses_topic_ids: bool
    epoch: int
    last_used_ms: int
    partitions: dict[PartitionKey, FetchPosition] = field(default_factory=dict)
    reported: dict[PartitionKey, Reported] = field(default_factory=dict)
    weight: int = 0
    """What the session counts towards ``MAX_PARTITIONS``: its partitions, and more for long topic names."""

    def update(self, wanted: Mapping[PartitionKey, FetchPosition], forgotten: Collection[PartitionKey]) -> None:
        """Apply the changes in an incremental request. For a topic deleted meanwhile the request has only the id; the
        name is taken from the session."""
        nameless = any(topic_id and not name for name, topic_id, _ in chain(wanted, forgotten))
        names = {topic_id: name for name, topic_id, _ in self.partitions} if nameless else {}
        for asked, position in wanted.items():
            key = _named(asked, names)
            if key not in self.partitions:
                self.weight += _weight(key)
            self.partitions[key] = position
        for asked in forgotten:
            key = _named(asked, names)
            if self.partitions.pop(key, None) is not None:
                self.reported.pop(key, None)
                self.weight -= _weight(key)

    def is_news(self, key: PartitionKey, now: Reported) -> bool:
        """Whether ``now`` differs from what was last sent for the partition, and store ``now`` as sent. True if the
        partition is no longer in the session."""
        if key not in self.partitions:
            return True
        before = self.reported.get(key)
        self.reported[key] = now
        return now != before

    def serve_last(self, key: PartitionKey) -> None:
        """Move a partition that had data behind the others."""
        position = self.partitions.pop(key, None)
        if position is not None:
            self.partitions[key] = position

    def next_epoch(self) -> None:
        self.epoch = 1 if self.epoch == MAX_EPOCH else self.epoch + 1


def _named(key: PartitionKey, names: Mapping[bytes, str]) -> PartitionKey:
    name, topic_id, partition = key
    return (names.get(topic_id, name), topic_id, partition) if names else key


def _weight(key: PartitionKey) -> int:
    return 1 + len(key[0]) // NAME_UNIT


class FetchSessionCache:
    """The fetch sessions, at most ``slots``, with at most ``MAX_PARTITIONS`` in all and ``MAX_PARTITIONS_OF_ONE`` each.
    A new session replaces the sessions idle for longest, if they have been idle for at least two minutes."""

    EVICTION_MS = 120_000

    def __init__(self, slots: int, random: Random) -> None:
        self._slots = slots
        self._random = random
        self._sessions: dict[int, FetchSession] = {}
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def open(
        self, partitions: dict[PartitionKey, FetchPosition], uses_topic_ids: bool, now_ms: int
    ) -> FetchSession | None:
        """A new session; None if it has too many partitions, or too few other sessions are idle for it to replace."""
        weight = sum(map(_weight, partitions))
        if weight > min(MAX_PARTITIONS, MAX_PARTITIONS_OF_ONE) or not self._evict(
            self._slots - 1, MAX_PARTITIONS - weight, now_ms
        ):
            return None
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = int.from_bytes(self._random.token(4), "big") & 0x7FFFFFFF
        session = FetchSession(session_id, uses_topic_ids, INITIAL_EPOCH + 1, now_ms, partitions, {}, weight)
        self._sessions[session_id] = session
        return session

    def update(
        self, session: FetchSession, wanted: Mapping[PartitionKey, FetchPosition], forgotten: Collection[PartitionKey]
    ) -> bool:
        """Apply the changes in an incremental request; if they exceed the limits, end the session and return False."""
        before = session.weight
        session.update(wanted, forgotten)
        if session.weight > before and (
            session.weight > MAX_PARTITIONS_OF_ONE or not self._evict(self._slots, MAX_PARTITIONS, session.last_used_ms)
        ):
            self.close(session.session_id)
            return False
        return True

    def _evict(self, slots: int, weight: int, now_ms: int) -> bool:
        """Close unused sessions until the remaining ones are within the limits; returns whether they are."""
        used = sum(session.weight for session in self._sessions.values())
        while len(self._sessions) > slots or used > weight:
            oldest = min(self._sessions.values(), key=lambda session: session.last_used_ms, default=None)
            if oldest is None or now_ms - oldest.last_used_ms < self.EVICTION_MS:
                return False
            del self._sessions[oldest.session_id]
            used -= oldest.weight
            self.evictions += 1
        return True

    def clock_was_set(self, step_ms: int) -> None:
        for session in self._sessions.values():
            session.last_used_ms += step_ms

    def close(self, session_id: int) -> None:
        self._sessions.pop(session_id, None)

    def resume(self, session_id: int, epoch: int, uses_topic_ids: bool, now_ms: int) -> FetchSession | Error:
        """The session that an incremental request continues, or the error if it cannot continue one."""
        session = self._sessions.get(session_id)
        if session is None:
            return Error.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return Error.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return Error.FETCH_SESSION_TOPIC_ID_ERROR
        session.last_used_ms = now_ms
        session.next_epoch()
        return session
