"""The ids of the topics whose offsets a transaction commits (KIP-1319).

Called by the transaction manager and by ``BatchTransactions``, one object for each TxnOffsetCommit. The request
identifies all of its topics by id, or, if one of them has none, all by name. The ids are fixed when they are first
known: the ids of the topics that oncelog's consumer has read from, otherwise those in the metadata. So the offsets of a
deleted topic do not become the offsets of a recreated topic of the same name, for which Java's client would commit
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.connection.wire import RequestFailure
from oncelog.protocol.struct_fields import ZERO_UUID


class OffsetTopics:
    """The ids of one request's topics, from the client's metadata.

    :param read: the ids of the topics from which the offsets are known to come.
    """

    def __init__(self, metadata: ClusterMetadata, names: Iterable[str], read: Mapping[str, bytes]) -> None:
        self._metadata = metadata
        self._names = list(dict.fromkeys(names))
        self._read = read
        self._ids: dict[str, bytes] | None = None
        self._current = False
        self._asked = False
        self.replaced: str | None = None
        """The name of a topic whose id has changed since it was first known; None if there is none."""
        if not metadata.want(self._names):
            # False if an id differs from the one read: the cached metadata may be out of date
            self._current = self._learn()

    def look_up(self, known: Callable[[], None]) -> bool:
        """Whether the ids are known; if not, metadata is requested, and ``known`` is called once when the answer has
        arrived.
        """
        if self._current:
            return True
        if not self._asked:
            self._asked = True

            def answered(failure: RequestFailure | None) -> None:
                self._learn()
                known()

            self._metadata.refresh().then(answered)
        return False

    def doubt(self) -> None:
        """Compare the ids with new metadata before the next attempt, because the broker does not know one of them."""
        self._current = False

    @property
    def by_id(self) -> bool:
        """Whether all topics have ids."""
        return self._ids is not None and ZERO_UUID not in self._ids.values()

    def id(self, name: str) -> bytes:
        return ZERO_UUID if self._ids is None else self._ids[name]

    def name(self, topic_id: bytes) -> str:
        """The name of the topic with this id in an answer; empty if the topic was not in the request."""
        return next((name for name, known in (self._ids or {}).items() if known == topic_id), "")

    def _learn(self) -> bool:
        """Take ids from the metadata; returns whether the topics are still the same."""
        self._current, self._asked = True, False
        found = {name: self._metadata.topic_id(name) for name in self._names}
        if self._ids is None:
            self._ids = {**found, **self._read}
        changed = (name for name, known in self._ids.items() if found[name] not in (known, ZERO_UUID))
        self.replaced = next(changed, None) if self.by_id else None
        return self.replaced is None


__all__ = ["OffsetTopics"]
