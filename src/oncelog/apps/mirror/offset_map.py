"""Maps the offsets of the source to offsets of the target, and stores this map in a compacted topic of the target.
Pure.

Called by :mod:`oncelog.apps.mirror.run`. The map consists of runs: a run is a number of records with consecutive
offsets on the source and consecutive offsets on the target. A run ends at the source's markers, aborted records and
gaps, and at the target's markers. Runs are kept in chapters of at most ``CHAPTER`` runs: only a partition's last
chapter is rewritten when it grows, so a round writes little, and chapters whose records the source no longer has are
deleted.

Keys and values are JSON. ``{"kind": "mirror"}``: ids of the two clusters. ``{"kind": "position", "topic",
"partition"}``: how far the source is mirrored, and the topic's ids on both clusters. ``{"kind": "runs", "topic",
"partition", "chapter"}``: the source's offset, the target's offset and the number of records, alternating. ``{"kind":
"group", "group", "topic", "partition"}``: the offset last set on the target.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json
from oncelog.types import TopicPartition

CHAPTER = 500


class MapError(OncelogError):
    """The map topic contains a record that no mirror has written."""


class Run(NamedTuple):
    """``records`` consecutive records, which begin at offset ``source`` on the source and at offset ``target`` on
    the target.
    """

    source: int
    target: int
    records: int


class PartitionMap:
    """The runs of one partition, in ascending order of offsets."""

    def __init__(self) -> None:
        self.chapters: dict[int, list[Run]] = {}
        self.changed: set[int] = set()
        """The numbers of the chapters that have changed since they were last written."""

    def add(self, run: Run) -> None:
        """Add the next records; they extend the last run if neither cluster has a gap between them and that run."""
        number = max(self.chapters, default=0)
        runs = self.chapters.setdefault(number, [])
        last = runs[-1] if runs else None
        if last is not None and run.source == last.source + last.records and run.target == last.target + last.records:
            runs[-1] = last._replace(records=last.records + run.records)
        elif len(runs) < CHAPTER:
            runs.append(run)
        else:
            number += 1
            self.chapters[number] = [run]
        self.changed.add(number)

    def translate(self, offset: int) -> int | None:
        """The target's offset of the first mirrored record at or after ``offset`` of the source.

        If no such record is mirrored, the offset on the target after the last mirrored record; None if no record is
        mirrored.
        """
        numbers = sorted(number for number, runs in self.chapters.items() if runs)
        if not numbers:
            return None
        firsts = [self.chapters[number][0].source for number in numbers]
        index = max(0, bisect_right(firsts, offset) - 1)
        runs = self.chapters[numbers[index]]
        at = bisect_right(runs, offset, key=lambda run: run.source) - 1
        if at < 0:
            return runs[0].target
        run = runs[at]
        if offset < run.source + run.records:
            return run.target + offset - run.source
        if at + 1 < len(runs):
            return runs[at + 1].target
        if index + 1 < len(numbers):
            return self.chapters[numbers[index + 1]][0].target
        return run.target + run.records

    def forget_before(self, offset: int) -> list[int]:
        """Delete chapters whose records the source no longer has, except the last one; returns their numbers."""
        numbers = sorted(self.chapters)
        gone = [
            number
            for number, following in pairwise(numbers)
            if self.chapters[following] and self.chapters[following][0].source <= offset
        ]
        for number in gone:
            del self.chapters[number]
            self.changed.discard(number)
        return gone


NO_ID = bytes(16).hex()
"""The id of every topic in a cluster that gives topics no ids: Apache Kafka at inter.broker.protocol.version 2.7 or
older."""


def is_replaced(known_id: str, topic_id: str) -> bool:
    """Whether the topic with ``topic_id`` is another one than the topic with ``known_id``.

    A cluster that is upgraded gives ids to its existing topics, so an id that replaces :data:`NO_ID` shows no
    difference.
    """
    return known_id != topic_id and NO_ID not in (known_id, topic_id)


@dataclass(slots=True)
class MirroredPosition:
    """The mirrored position of a partition, and the ids of its topic on source and target."""

    offset: int
    source_id: str
    target_id: str

    def take_ids(self, source_id: str, target_id: str) -> bool:
        """Store topic ids where none was known; returns whether any was stored."""
        before = self.source_id, self.target_id
        if self.source_id == NO_ID:
            self.source_id = source_id
        if self.target_id == NO_ID:
            self.target_id = target_id
        return before != (self.source_id, self.target_id)


@dataclass(slots=True)
class MirrorState:
    """The content of a mirror's map topic."""

    source_cluster: str | None = None
    target_cluster: str | None = None
    positions: dict[TopicPartition, MirroredPosition] = field(default_factory=dict)
    maps: dict[TopicPartition, PartitionMap] = field(default_factory=dict)
    groups: dict[tuple[str, TopicPartition], OffsetAndMetadata] = field(default_factory=dict)

    def map_of(self, name: TopicPartition) -> PartitionMap:
        return self.maps.setdefault(name, PartitionMap())

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        """Apply the next record of the map topic.

        :raises MapError: the record was not written by a mirror.
        """
        try:
            named = json.loads(key or b"null")
            content = None if value is None else json.loads(value)
            self._apply(named, content)
        except (ValueError, KeyError, TypeError) as error:
            raise MapError(f"the mirror's topic contains a record that no mirror has written (key {key!r})") from error

    def _apply(self, key: Mapping[str, Any], value: Any) -> None:
        if key["kind"] == "mirror":
            self.source_cluster, self.target_cluster = value["source"], value["target"]
            return
        name = TopicPartition(key["topic"], key["partition"])
        if key["kind"] == "position":
            if value is None:
                self.positions.pop(name, None)
            else:
                self.positions[name] = MirroredPosition(value["offset"], value["source_id"], value["target_id"])
        elif key["kind"] == "runs":
            chapters = self.map_of(name).chapters
            if value is None:
                chapters.pop(key["chapter"], None)
            else:
                numbers = iter(value)
                chapters[key["chapter"]] = [Run(*three) for three in zip(numbers, numbers, numbers, strict=True)]
        else:
            self.groups[key["group"], name] = OffsetAndMetadata(value["offset"], value.get("marker", ""))


def mirror_record(source: str, target: str) -> tuple[bytes, bytes]:
    return _json({"kind": "mirror"}), _json({"source": source, "target": target})


def position_record(name: TopicPartition, position: MirroredPosition) -> tuple[bytes, bytes]:
    key = {"kind": "position", "topic": name.topic, "partition": name.partition}
    value = {"offset": position.offset, "source_id": position.source_id, "target_id": position.target_id}
    return _json(key), _json(value)


def runs_record(name: TopicPartition, chapter: int, runs: list[Run] | None) -> tuple[bytes, bytes | None]:
    key = {"kind": "runs", "topic": name.topic, "partition": name.partition, "chapter": chapter}
    return _json(key), None if runs is None else _json([number for run in runs for number in run])


def group_record(group: str, name: TopicPartition, kept: OffsetAndMetadata) -> tuple[bytes, bytes]:
    key = {"kind": "group", "group": group, "topic": name.topic, "partition": name.partition}
    return _json(key), _json({"offset": kept.offset} | ({"marker": kept.metadata} if kept.metadata else {}))


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
