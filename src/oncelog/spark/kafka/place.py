"""A query's position in the topics that it reads, as stored in Spark's checkpoint.

Pure. Called by the sources, which write it, and by the sinks and pipelines, which read it. The JSON form is that of
Spark's own Kafka connector, ``{"topic": {"0": 23}}``, an offset being the next one to read. Next to the partitions it
adds the topic's id, the leader epochs, and in a query's first batch where the query started; for a topic without id, a
mark of the record batch before each offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from oncelog.errors import ConfigError
from oncelog.records.batch import BatchHeader
from oncelog.runtime import real_json as json
from oncelog.spark.options import BESIDE_PARTITIONS
from oncelog.types import TopicPartition

Json: TypeAlias = dict[str, dict[str, Any]]
Offsets: TypeAlias = Mapping[TopicPartition, int]
_ID, _FROM, _EPOCHS, _MARKS, _MISSING = BESIDE_PARTITIONS
_SHOWN_CHARACTERS = 60


class BatchMark(NamedTuple):
    """The properties that identify a record batch at its offsets; without a topic id they are the only way to recognise
    a log.
    """

    base_offset: int
    last_offset: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int
    max_timestamp: int
    crc: int

    @classmethod
    def of(cls, header: BatchHeader) -> BatchMark:
        return cls(
            header.base_offset,
            header.last_offset,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.records_count,
            header.max_timestamp,
            header.crc,
        )

    def may_be(self, header: BatchHeader) -> bool:
        """Whether a batch that is found later, at the same offset or as the next one after it, may belong to the same
        log.

        Compaction removes batches and records, but changes neither the offsets nor the producer of a batch that stays.
        It sets a delete horizon on a batch whose tombstones or control record it will remove (KIP-534).
        """
        found = BatchMark.of(header)
        if found.base_offset > self.last_offset:
            return True
        if found[:5] != self[:5]:
            return False
        if found.records_count < self.records_count:
            return found.max_timestamp <= self.max_timestamp
        unchanged = header.delete_horizon_ms is not None or found.crc == self.crc
        return (found.records_count, found.max_timestamp) == (self.records_count, self.max_timestamp) and unchanged


class Place(NamedTuple):
    """A query's progress, as stored in its checkpoint.

    :param ids: topic ids, if the cluster gives them: a topic that is deleted and recreated has another id.
    :param start: in the first batch of a query, where the query began: Spark stores only the ends of batches, and
        "latest" means something else when the batch is repeated.
    :param epochs: the leader epochs when the offsets were planned: a later leader can tell where its log diverges
        (KIP-320). Checkpoints of Spark's connector have none.
    :param marks: the record batch before each offset, where the cluster gives no topic id.
    :param missing: partitions that did not exist or were not wanted any more, with the time at which a plan first left
        them out, in milliseconds since 1970: their loss was accepted, and they continue here if they come back.
    """

    offsets: Offsets
    ids: Mapping[str, str] = MappingProxyType({})
    start: Offsets = MappingProxyType({})
    epochs: Mapping[TopicPartition, int] = MappingProxyType({})
    marks: Mapping[TopicPartition, BatchMark] = MappingProxyType({})
    missing: Mapping[TopicPartition, int] = MappingProxyType({})

    @property
    def present(self) -> Offsets:
        """The offsets without those of missing partitions."""
        return {name: offset for name, offset in self.offsets.items() if name not in self.missing}

    def as_json(self) -> Json:
        """The JSON form in the checkpoint, sorted."""
        by_topic: Json = {}
        for (topic, partition), offset in sorted(self.offsets.items()):
            by_topic.setdefault(topic, {})[str(partition)] = offset
        for topic, id_ in self.ids.items():
            if topic in by_topic:
                by_topic[topic][_ID] = id_
        for (topic, partition), offset in sorted(self.start.items()):
            by_topic.setdefault(topic, {}).setdefault(_FROM, {})[str(partition)] = offset
        epochs = {name: epoch for name, epoch in self.epochs.items() if epoch >= 0}
        marks = {name: list(mark) for name, mark in self.marks.items()}
        beside: tuple[tuple[str, Mapping[TopicPartition, Any]], ...]
        beside = (_EPOCHS, epochs), (_MARKS, marks), (_MISSING, self.missing)
        for field, values in beside:
            for name in sorted(values.keys() & self.offsets.keys()):
                by_topic[name.topic].setdefault(field, {})[str(name.partition)] = values[name]
        return by_topic

    @classmethod
    def of(cls, by_topic: Mapping[str, Mapping[str, Any]]) -> Place:
        """Parse a position from the JSON in a checkpoint.

        :raises ConfigError: this source did not write the JSON: another source did, or it was edited by hand.
        """
        try:
            return cls(
                _numbers(by_topic, "offset"),
                {topic: str(fields[_ID]) for topic, fields in by_topic.items() if _ID in fields},
                _numbers(_fields(by_topic, _FROM), "beginning"),
                _numbers(_fields(by_topic, _EPOCHS), "leader epoch"),
                {
                    TopicPartition(topic, int(partition)): BatchMark(*map(int, mark))
                    for topic, partitions in _fields(by_topic, _MARKS).items()
                    for partition, mark in partitions.items()
                },
                _numbers(_fields(by_topic, _MISSING), "time"),
            )
        except ConfigError:
            raise
        except (AttributeError, TypeError, ValueError):
            raise ConfigError(
                f"The checkpoint has {str(by_topic)[:_SHOWN_CHARACTERS]!r} where a source of topics has its offsets: "
                "give the query the checkpoint that it began, or a new one"
            ) from None

    @classmethod
    def in_line(cls, line: str) -> Place | None:
        """The position in a source's line of the checkpoint; None if the source does not read Kafka topics."""
        try:
            return cls.of(json.loads(line))
        except (ValueError, RecursionError):
            return None


def _fields(by_topic: Mapping[str, Mapping[str, Any]], field: str) -> Mapping[str, Mapping[str, Any]]:
    return {topic: fields[field] for topic, fields in by_topic.items() if field in fields}


def _numbers(by_topic: Mapping[str, Mapping[str, Any]], what: str) -> dict[TopicPartition, int]:
    found = {
        TopicPartition(topic, int(partition)): number
        for topic, partitions in by_topic.items()
        for partition, number in partitions.items()
        if partition.isdecimal()
    }
    for name, number in found.items():
        if type(number) is not int or number < 0:
            raise ConfigError(
                f"The checkpoint has {number!r} as {what} of {name}, and it takes a number from 0 on, without quotes: "
                "correct what was edited, or restore the checkpoint"
            )
    return found
