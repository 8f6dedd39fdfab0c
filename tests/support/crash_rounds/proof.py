"""What consumers see, compared with what the actors were told.

Called between rounds, while the actors pause: every acknowledged record is there once, in order; nothing of an aborted
transaction is visible; no transaction holds the last stable offset back; the copy is the source.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from confluent_kafka import Consumer, KafkaError, TopicPartition

from tests.support.crash_rounds.actors import (
    COPY,
    PARTITIONS,
    PLAIN,
    TRANSACTED,
    Actor,
    Outcome,
    Violation,
    client_settings,
)

Place = tuple[str, int]
TOPICS = (PLAIN, TRANSACTED, COPY)
READ_S = 60.0


class View:
    """Everything that a read_committed consumer has seen since the beginning, by partition."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self.seen: dict[Place, list[bytes]] = {(topic, index): [] for topic in TOPICS for index in range(PARTITIONS)}
        self._positions: dict[Place, int] = dict.fromkeys(self.seen, 0)

    def read_on(self) -> None:
        """Read to the end of every partition as a read_uncommitted consumer knows it.

        :raises Violation: the last stable offset does not reach the end, so a transaction hangs.
        """
        ends = self._ends()
        consumer = self._consumer("read_committed")
        consumer.assign([TopicPartition(*place, at) for place, at in self._positions.items()])
        deadline = time.monotonic() + READ_S
        behind = {place for place, end in ends.items() if self._positions[place] < end}
        while behind:
            if time.monotonic() > deadline:
                text = ", ".join(f"{p} at {self._positions[p]} of {ends[p]}" for p in sorted(behind))
                raise Violation(f"committed records do not come to the end of the log, a transaction hangs: {text}")
            for message in consumer.consume(2000, 0.1):
                error = message.error()
                place = (str(message.topic()), int(message.partition() or 0))
                if error is None:
                    self.seen[place].append(message.value() or b"")
                    self._positions[place] = int(message.offset() or 0) + 1
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._positions[place] = int(message.offset() or 0)
                if self._positions[place] >= ends[place]:
                    behind.discard(place)
        consumer.close()

    def _ends(self) -> dict[Place, int]:
        consumer = self._consumer("read_uncommitted")
        ends = {place: consumer.get_watermark_offsets(TopicPartition(*place), READ_S)[1] for place in self._positions}
        consumer.close()
        return ends

    def _consumer(self, isolation: str) -> Consumer:
        return Consumer(
            client_settings(self._bootstrap_servers)
            | {
                "group.id": "proof",
                "isolation.level": isolation,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 10,
            }
        )


class Proof:
    """Expected records of all actors, and the view that is compared with them."""

    def __init__(self, bootstrap_servers: str, actors: Sequence[Actor]) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._actors = actors
        self._view = View(bootstrap_servers)
        self._expected: dict[Place, dict[bytes, list[bytes]]] = defaultdict(lambda: defaultdict(list))

    @property
    def visible(self) -> int:
        return sum(map(len, self._view.seen.values()))

    def check(self) -> None:
        """Compare; the actors must be paused with nothing in flight."""
        self._view.read_on()
        self._fold()
        self._compare(self._view.seen)

    def check_from_the_start(self) -> None:
        """Read everything once more with a new consumer."""
        view = View(self._bootstrap_servers)
        view.read_on()
        for place, seen in view.seen.items():
            if seen != self._view.seen[place]:
                raise Violation(f"{place} reads otherwise than before: {_difference(self._view.seen[place], seen)}")

    def _fold(self) -> None:
        """Take over what the actors did since the last check."""
        visible = {place: set(values) for place, values in self._view.seen.items()}
        for actor in self._actors:
            units, actor.units = actor.units, []
            for unit in units:
                committed = unit.outcome is Outcome.COMMITTED
                if unit.outcome is Outcome.UNKNOWN:
                    found = [value in visible[place] for place, values in unit.values.items() for value in values]
                    if any(found) != all(found):
                        raise Violation(f"{actor.name}: a transaction is visible in part: {found}")
                    committed = all(found)
                if committed:
                    for place, values in unit.values.items():
                        self._expected[place][actor.name.encode()] += values

    def _compare(self, seen: dict[Place, list[bytes]]) -> None:
        for place in seen:
            if place[0] == COPY:
                if seen[place] != seen[PLAIN, place[1]]:
                    raise Violation(f"{place} is no copy: {_difference(seen[PLAIN, place[1]], seen[place])}")
                continue
            found: dict[bytes, list[bytes]] = defaultdict(list)
            for value in seen[place]:
                found[value.partition(b" ")[0]].append(value)
            for name in sorted(self._expected[place].keys() | found.keys()):
                if found[name] != self._expected[place][name]:
                    raise Violation(
                        f"{place}, {name.decode()}: {_difference(self._expected[place][name], found[name])}"
                    )


def _difference(expected: Sequence[bytes], found: Sequence[bytes]) -> str:
    """The first difference of two sequences, and whether records are missing, duplicated, or unexpected."""
    same = next((at for at, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), None)
    at = min(len(expected), len(found)) if same is None else same
    missing, new, double = set(expected) - set(found), set(found) - set(expected), len(found) - len(set(found))
    return (
        f"{len(expected)} records expected, {len(found)} found, different from {at} on: expected "
        f"{_short(expected[at : at + 1])}, found {_short(found[at : at + 1])}; {len(missing)} missing, "
        f"{double} double, {len(new)} not expected"
    )


def _short(values: Iterable[bytes]) -> str:
    return ", ".join(repr(value[:60]) for value in values) or "the end"
