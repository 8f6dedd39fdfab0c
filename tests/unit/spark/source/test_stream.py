"""The streaming reader against a cluster in memory: admission control, AvailableNow, new partitions, loss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from oncelog.errors import ConfigError, Error, KafkaError
from oncelog.records.batch import BatchHeader
from oncelog.spark.kafka.interface import ClusterFacts, LogEnd, OffsetRange, PartitionFetcher, ProducerTransaction
from oncelog.spark.kafka.place import Json, Place
from oncelog.spark.options import EARLIEST, LATEST, parse_source_options
from oncelog.spark.source.planned_offsets import DataLoss
from oncelog.spark.source.stream import MISSING_KEPT_MS, PARTITIONS_KEPT_S, StreamReader
from oncelog.types import IsolationLevel, TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


class FakeCluster:
    """First offset and end of each partition."""

    def __init__(self, **ends: list[int]) -> None:
        self.first = {TopicPartition(t, n): 0 for t, counts in ends.items() for n in range(len(counts))}
        self.end = {TopicPartition(t, n): end for t, counts in ends.items() for n, end in enumerate(counts)}
        self.questions = 0
        self.stable: dict[TopicPartition, int] = {}
        """Ends as read_committed sees them, for partitions with an open transaction."""
        self.committed: dict[str, Mapping[TopicPartition, int]] = {}
        self.ids: dict[str, str] = {}
        self.epochs: dict[TopicPartition, list[tuple[int, int]]] = {}
        """Leader epochs with their first offsets, if there are any."""
        self.epoch_questions = 0
        self.logs: dict[str, int] = {}
        """The checksum of all batches of a topic; one that is not here holds no batch that could tell its log."""
        self.header_questions = 0
        self.waited_beyond: list[Mapping[TopicPartition, int] | None] = []

    def partition_counts(self, topics: Sequence[str] | None, *, wait: bool = False) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for topic, _ in self.end:
            counts[topic] = counts.get(topic, 0) + 1
        return {topic: count for topic, count in counts.items() if topics is None or topic in topics}

    def topic_ids(self, topics: Sequence[str]) -> Mapping[str, str]:
        known = {partition.topic for partition in self.end}
        return {topic: id_ for topic, id_ in self.ids.items() if topic in topics and topic in known}

    def facts(self, group: str) -> ClusterFacts:
        raise AssertionError("reading plans no write")

    def make_again(self, topic: str, id_: str, *ends: int) -> None:
        """Delete a topic and create it again with the given number of records in each partition."""
        for partition in [partition for partition in self.end if partition.topic == topic]:
            del self.end[partition], self.first[partition]
        self.end |= {TopicPartition(topic, number): end for number, end in enumerate(ends)}
        self.first |= {TopicPartition(topic, number): 0 for number in range(len(ends))}
        self.ids[topic] = id_

    def list_offsets(
        self, questions: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        self.questions += 1
        unknown = sorted(partition for partition in questions if partition not in self.end)
        if unknown:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"{unknown[0]} does not exist")
        end = self.end | self.stable if isolation is IsolationLevel.READ_COMMITTED else self.end
        return {p: {EARLIEST: self.first, LATEST: end}.get(q, {p: q})[p] for p, q in questions.items()}

    def log_ends(
        self, partitions: Sequence[TopicPartition], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, LogEnd]:
        ends = self.list_offsets(dict.fromkeys(partitions, LATEST), isolation)
        return {name: LogEnd(end, self.epochs.get(name, [(-1, 0)])[-1][0]) for name, end in ends.items()}

    def settled_ends(
        self,
        partitions: Sequence[TopicPartition],
        isolation: IsolationLevel,
        read: Mapping[TopicPartition, int] | None = None,
    ) -> Mapping[TopicPartition, LogEnd]:
        self.waited_beyond.append(read)
        return self.log_ends(partitions, isolation)

    def epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self.epoch_questions += 1
        unknown = sorted(partition for partition in epochs if partition not in self.end)
        if unknown:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"{unknown[0]} does not exist")
        return {name: self._epoch_end(name, epoch) for name, epoch in epochs.items()}

    def _epoch_end(self, name: TopicPartition, epoch: int) -> int:
        """As Kafka's ``LeaderEpochFileCache.endOffsetFor``."""
        known = self.epochs[name]
        if epoch > known[-1][0]:
            return -1
        return next((start for number, start in known if number > epoch), self.end[name])

    def elect(self, partition: TopicPartition, *, kept: int | None = None, end: int | None = None) -> None:
        """A new leader, whose log is cut at ``kept`` and grows to ``end`` again."""
        start = self.end[partition] if kept is None else kept
        held = [entry for entry in self.epochs[partition] if entry[1] < start or entry[1] == 0]
        self.epochs[partition] = [*held, (self.epochs[partition][-1][0] + 1, start)]
        self.end[partition] = start if end is None else end

    def batch_headers(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, BatchHeader]:
        self.header_questions += 1
        unknown = sorted(partition for partition in offsets if partition not in self.end)
        if unknown:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"{unknown[0]} does not exist")
        held = {name: at for name, at in offsets.items() if self.first[name] <= at < self.end[name]}
        return {
            name: BatchHeader(base_offset=at, records_count=1, crc=self.logs[name.topic])
            for name, at in held.items()
            if name.topic in self.logs
        }

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        self.committed[group] = offsets

    def fetcher(self, item: OffsetRange, isolation: IsolationLevel) -> PartitionFetcher:
        raise AssertionError("planning reads nothing")

    def transaction(self, transactional_id: str, timeout_ms: int) -> ProducerTransaction:
        raise AssertionError("reading writes nothing")


class Clock:
    def __init__(self) -> None:
        self.s = 1000.0

    def __call__(self) -> float:
        return self.s

    def ms(self) -> int:
        return int(self.s * 1000)

    def pass_caches(self) -> None:
        self.s += PARTITIONS_KEPT_S + 1


def reader(cluster: FakeCluster, **options: str) -> tuple[StreamReader, Clock]:
    base = {"kafka.bootstrap.servers": "h:1", "subscribe": "a"}
    if "subscribePattern" in options:
        del base["subscribe"]
    clock = Clock()
    parsed = parse_source_options(base | options, streaming=True)
    return StreamReader(parsed, lambda _: cluster, clock, clock.ms), clock


def ranges(parts: Sequence[InputPartition]) -> list[tuple[int, int, int]]:
    return [(part.value.partition.partition, part.value.start, part.value.end) for part in parts]


def test_a_query_without_a_checkpoint_starts_at_the_end_or_at_starting_offsets() -> None:
    cluster = FakeCluster(a=[5, 7])
    assert reader(cluster)[0].initialOffset() == {"a": {"0": 5, "1": 7}}
    assert reader(cluster, startingOffsets="earliest")[0].initialOffset() == {"a": {"0": 0, "1": 0}}
    reported = reader(cluster, startingOffsets='{"a": {"0": 3, "1": -1}}')[0]
    assert reported.initialOffset() == {"a": {"0": 3, "1": 7}}


def test_starting_in_a_recreated_topic_is_data_loss_if_the_offsets_have_a_topic_id() -> None:
    cluster = FakeCluster(a=[5, 7])
    cluster.ids["a"] = "new"
    start = '{"a": {"0": 3, "1": 4, "id": "old"}}'
    stream, _ = reader(cluster, startingOffsets=start)
    with pytest.raises(DataLoss, match=r"topic a was deleted and recreated \(its id was old and is new\)"):
        stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    stream, _ = reader(cluster, startingOffsets=start, failOnDataLoss="false")
    first = stream.initialOffset()
    end = stream.latestOffset(first, ReadAllAvailable())
    assert ranges(stream.partitions(first, end)) == [(0, 0, 5), (1, 0, 7)]
    stream, _ = reader(cluster, startingOffsets=start.replace("old", "new"))
    assert Place.of(stream.latestOffset(stream.initialOffset(), ReadAllAvailable())).start == {A0: 3, A1: 4}


def test_starting_in_a_truncated_or_rewritten_log_is_data_loss_if_the_offsets_reveal_it() -> None:
    cluster = FakeCluster(a=[9])
    cluster.ids["a"] = "id"
    cluster.epochs[A0] = [(0, 0)]
    cluster.elect(A0, kept=2, end=9)
    stream, _ = reader(cluster, startingOffsets='{"a": {"0": 5, "id": "id", "epochs": {"0": 0}}}')
    with pytest.raises(DataLoss, match="has been truncated to offset 2 since"):
        stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    unnamed = FakeCluster(a=[9])
    unnamed.logs["a"] = 77
    mark = [4, 4, -1, -1, -1, 1, -1, 76]
    stream, _ = reader(unnamed, startingOffsets=json.dumps({"a": {"0": 5, "marks": {"0": mark}}}))
    with pytest.raises(DataLoss, match="those that the query planned"):
        stream.latestOffset(stream.initialOffset(), ReadAllAvailable())


def test_starting_offsets_with_unknown_entries_for_a_topic_are_refused() -> None:
    for beside in ('"epochs": 5', '"marks": {"0": [1]}'):
        stream, _ = reader(FakeCluster(a=[9]), startingOffsets=f'{{"a": {{"0": 5, {beside}}}}}')
        with pytest.raises(ConfigError, match="startingOffsets contains, besides the partitions of a topic, entries"):
            stream.initialOffset()


def test_a_batch_ends_at_the_limit_and_the_next_batch_continues() -> None:
    stream, clock = reader(FakeCluster(a=[100, 100]), maxOffsetsPerTrigger="50")
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMaxRows(50)
    first = stream.latestOffset({"a": {"0": 0, "1": 0}}, limit)
    assert first == {"a": {"0": 25, "1": 25}}
    clock.pass_caches()
    assert stream.latestOffset(first, limit) == {"a": {"0": 50, "1": 50}}
    assert stream.latestOffset(first, ReadAllAvailable()) == {"a": {"0": 100, "1": 100}}


def test_min_offsets_per_trigger_waits_until_max_trigger_delay() -> None:
    cluster = FakeCluster(a=[10])
    stream, clock = reader(cluster, minOffsetsPerTrigger="100", maxTriggerDelay="60s")
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMinRows(100)
    first = stream.latestOffset({"a": {"0": 0}}, limit)
    assert first == {"a": {"0": 10}}, "a query that starts waits for nothing, as with Spark's own connector"
    cluster.end[TopicPartition("a", 0)] = 15
    clock.s += 59
    assert stream.latestOffset(first, limit) == first
    clock.s += 2
    assert stream.latestOffset(first, limit) == {"a": {"0": 15}}
    cluster.end[TopicPartition("a", 0)] = 115
    clock.s += 10
    assert stream.latestOffset({"a": {"0": 15}}, limit) == {"a": {"0": 115}}


def test_available_now_ends_at_the_end_of_the_log_when_the_query_began() -> None:
    cluster = FakeCluster(a=[10])
    stream, clock = reader(cluster, minOffsetsPerTrigger="100", maxOffsetsPerTrigger="100")
    stream.prepareForTriggerAvailableNow()
    cluster.end[TopicPartition("a", 0)] = 500
    clock.pass_caches()
    limit = stream.getDefaultReadLimit()
    assert stream.latestOffset({"a": {"0": 0}}, limit) == {"a": {"0": 10}}
    assert stream.latestOffset({"a": {"0": 10}}, limit) == {"a": {"0": 10}}


def test_the_end_includes_records_sent_a_moment_ago() -> None:
    """A caller that sends, then calls ``processAllAvailable``, waits for what was sent: no time has passed since the
    look.
    """
    cluster = FakeCluster(a=[10])
    stream, _ = reader(cluster)
    for end in (10, 11, 12):
        cluster.end[TopicPartition("a", 0)] = end
        assert stream.latestOffset({"a": {"0": 10}}, ReadAllAvailable()) == {"a": {"0": end}}


def test_a_new_partition_is_read_from_its_beginning() -> None:
    cluster = FakeCluster(a=[10])
    stream, clock = reader(cluster)
    cluster.first[TopicPartition("a", 1)], cluster.end[TopicPartition("a", 1)] = 0, 6
    clock.pass_caches()
    start = {"a": {"0": 10}}
    end = stream.latestOffset(start, ReadAllAvailable())
    assert end == {"a": {"0": 10, "1": 6}}
    assert ranges(stream.partitions(start, end)) == [(1, 0, 6)]


def test_records_deleted_from_a_new_partition_before_it_was_seen_are_data_loss() -> None:
    """Added while the query was stopped for longer than records are kept; Spark's own connector reports it too."""
    cluster = FakeCluster(a=[10, 6])
    cluster.first[TopicPartition("a", 1)] = 2
    start: Json = {"a": {"0": 10}}
    strict, _ = reader(cluster)
    with pytest.raises(DataLoss, match="a-1 is new to the query and begins at offset 2"):
        strict.latestOffset(start, ReadAllAvailable())
    with pytest.raises(DataLoss, match="a-1 is new to the query and begins at offset 2"):
        strict.partitions(start, {"a": {"0": 10, "1": 6}})
    lenient, _ = reader(cluster, failOnDataLoss="false")
    end = lenient.latestOffset(start, ReadAllAvailable())
    assert ranges(lenient.partitions(start, end)) == [(1, 2, 6)]
    chosen, _ = reader(cluster, subscribe="", assign='{"a": [0, 1]}')
    assert ranges(chosen.partitions(start, chosen.latestOffset(start, ReadAllAvailable()))) == [(1, 2, 6)]


def test_a_new_topic_that_matches_the_pattern_is_found() -> None:
    cluster = FakeCluster(a1=[3])
    stream, clock = reader(cluster, subscribePattern="a.*", startingOffsets="earliest")
    assert stream.initialOffset() == {"a1": {"0": 0}}
    cluster.first[TopicPartition("a2", 0)] = 0
    cluster.end[TopicPartition("a2", 0)] = 4
    clock.pass_caches()
    assert stream.latestOffset({"a1": {"0": 3}}, ReadAllAvailable()) == {"a1": {"0": 3}, "a2": {"0": 4}}


def test_ranges_are_split_into_tasks_as_the_options_require() -> None:
    stream, _ = reader(FakeCluster(a=[10]), maxRecordsPerPartition="4")
    parts = ranges(stream.partitions({"a": {"0": 0}}, {"a": {"0": 10}}))
    assert parts == [(0, 0, 3), (0, 3, 6), (0, 6, 10)]
    assert stream.partitions({"a": {"0": 10}}, {"a": {"0": 10}}) == []


@pytest.mark.parametrize(
    ("first", "end", "text"), [(7, 10, "begins at offset 7 and the query is at 5"), (0, 3, "ends at offset 3")]
)
def test_deleted_records_and_a_recreated_topic_are_data_loss(first: int, end: int, text: str) -> None:
    cluster = FakeCluster(a=[end])
    cluster.first[TopicPartition("a", 0)] = first
    strict, _ = reader(cluster)
    with pytest.raises(DataLoss, match=text):
        strict.partitions({"a": {"0": 5}}, {"a": {"0": 10}})
    lenient, _ = reader(cluster, failOnDataLoss="false")
    assert ranges(lenient.partitions({"a": {"0": 5}}, {"a": {"0": 10}})) == ([(0, 7, 10)] if first else [])


def test_a_recreated_topic_is_detected_when_end_offsets_are_requested() -> None:
    stream, _ = reader(FakeCluster(a=[3]))
    with pytest.raises(DataLoss, match="a-0 ends at offset 3 and the query is at 5"):
        stream.latestOffset({"a": {"0": 5}}, ReadAllAvailable())


def test_a_batch_planned_beyond_the_present_end_of_the_log_is_data_loss(caplog: pytest.LogCaptureFixture) -> None:
    """Planned to 10, then the log lost what was above 7 (a power failure, a restored cluster), then repeated."""
    strict, _ = reader(FakeCluster(a=[7]))
    with pytest.raises(DataLoss, match="a-0 ends at offset 7 and is to be read to 10"):
        strict.partitions({"a": {"0": 5}}, {"a": {"0": 10}})
    lenient, _ = reader(FakeCluster(a=[7]), failOnDataLoss="false")
    assert ranges(lenient.partitions({"a": {"0": 5}}, {"a": {"0": 10}})) == [(0, 5, 7)]
    assert "a-0 ends at offset 7 and is to be read to 10; continuing" in caplog.text


@pytest.mark.parametrize("options", [{}, {"minOffsetsPerTrigger": "5"}, {"maxOffsetsPerTrigger": "5"}])
def test_a_query_beyond_a_truncated_log_continues_at_its_end_if_losses_are_tolerated(options: dict[str, str]) -> None:
    """What is written from there on is new, although its offsets are below those that the query has read."""
    cluster = FakeCluster(a=[100, 10])
    cluster.ids = {"a": "x"}
    stream, clock = reader(cluster, failOnDataLoss="false", **options)
    start: Json = {"a": {"0": 100, "1": 10, "id": "x"}}
    assert stream.latestOffset(start, stream.getDefaultReadLimit()) == start
    cluster.end[TopicPartition("a", 0)] = 60
    clock.pass_caches()
    cut = stream.latestOffset(start, stream.getDefaultReadLimit())
    assert cut == {"a": {"0": 60, "1": 10, "id": "x"}}
    assert stream.partitions(start, cut) == []
    cluster.end[TopicPartition("a", 0)] = 65
    clock.pass_caches()
    end = stream.latestOffset(cut, stream.getDefaultReadLimit())
    assert ranges(stream.partitions(cut, end)) == [(0, 60, 65)]


def test_a_topic_that_disappears_temporarily_is_continued_and_not_read_again() -> None:
    """The right to see it was taken and given back, which a pattern cannot tell: it is still the same topic."""
    cluster = FakeCluster(a=[10], b=[5])
    cluster.ids = {"a": "x", "b": "y"}
    stream, clock = reader(cluster, subscribePattern="a|b", failOnDataLoss="false")
    start: Json = {"a": {"0": 10, "id": "x"}, "b": {"0": 5, "id": "y"}}
    assert stream.latestOffset(start, ReadAllAvailable()) == start
    del cluster.end[A0]
    clock.pass_caches()
    left_out = stream.latestOffset(start, ReadAllAvailable())
    assert left_out == {"a": {"0": 10, "id": "x", "missing": {"0": clock.ms()}}, "b": {"0": 5, "id": "y"}}
    clock.pass_caches()
    assert stream.latestOffset(left_out, ReadAllAvailable()) == left_out
    cluster.end |= {A0: 12, TopicPartition("b", 0): 6}
    clock.pass_caches()
    end = stream.latestOffset(left_out, ReadAllAvailable())
    assert "missing" not in end["a"]
    assert sorted(ranges(stream.partitions(left_out, end))) == [(0, 5, 6), (0, 10, 12)]


def test_a_topic_that_is_missing_for_a_long_time_is_forgotten() -> None:
    cluster = FakeCluster(a=[10], b=[5])
    cluster.ids = {"a": "x", "b": "y"}
    stream, clock = reader(cluster, subscribePattern="a|b", failOnDataLoss="false")
    del cluster.end[A0]
    start: Json = {"a": {"0": 10, "id": "x"}, "b": {"0": 5, "id": "y"}}
    left_out = stream.latestOffset(start, ReadAllAvailable())
    later, clock = reader(cluster, subscribePattern="a|b")
    clock.s += MISSING_KEPT_MS / 1000 + 1
    assert later.latestOffset(left_out, ReadAllAvailable()) == {"b": {"0": 5, "id": "y"}}


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_topic_that_one_run_left_out_is_no_data_loss_for_later_runs(is_made_again: bool) -> None:
    """Also if the run had nothing else to do, and if another topic has its name by then."""
    cluster = FakeCluster(a=[10], b=[5])
    cluster.ids = {"a": "x", "b": "y"}
    start: Json = {"a": {"0": 10, "id": "x"}, "b": {"0": 5, "id": "y"}}
    del cluster.end[A0]
    with pytest.raises(DataLoss, match=r"a-0 does not exist any more, .* false for one start"):
        reader(cluster, subscribePattern="a|b")[0].latestOffset(start, ReadAllAvailable())
    lenient, _ = reader(cluster, subscribePattern="a|b", failOnDataLoss="false")
    left_out = lenient.latestOffset(start, ReadAllAvailable())
    assert lenient.partitions(start, left_out) == []
    strict, _ = reader(cluster, subscribePattern="a|b")
    assert strict.latestOffset(left_out, ReadAllAvailable()) == left_out
    if is_made_again:
        cluster.make_again("a", "z", 3)
        assert strict.partitions(start, left_out) == []
    strict, _ = reader(cluster, subscribePattern="a|b")
    cluster.end[TopicPartition("b", 0)] = 6
    end = strict.latestOffset(left_out, ReadAllAvailable())
    assert ranges(strict.partitions(left_out, end)) == [*([(0, 0, 3)] if is_made_again else []), (0, 5, 6)]
    del cluster.end[TopicPartition("b", 0)]
    with pytest.raises(DataLoss, match="b-0 does not exist any more"):
        reader(cluster, subscribePattern="a|b")[0].latestOffset(end, ReadAllAvailable())


def test_a_partition_that_is_no_longer_assigned_does_not_delay_the_others_of_its_topic() -> None:
    cluster = FakeCluster(a=[10, 10])
    cluster.ids = {"a": "x"}
    stream, clock = reader(cluster, subscribe="", assign='{"a": [0]}', failOnDataLoss="false")
    start: Json = {"a": {"0": 5, "1": 7, "id": "x"}}
    end = stream.latestOffset(start, ReadAllAvailable())
    assert end == {"a": {"0": 10, "1": 7, "id": "x", "missing": {"1": clock.ms()}}}
    assert ranges(stream.partitions(start, end)) == [(0, 5, 10)]
    strict, _ = reader(cluster, subscribe="", assign='{"a": [0]}')
    assert strict.latestOffset(end, ReadAllAvailable()) == end


def test_a_plan_with_a_deleted_topic_does_not_wait_for_the_topic() -> None:
    """Offsets of an unknown topic are asked for a minute, since it may be new; this one had an id."""
    cluster = FakeCluster(a=[10], b=[5])
    cluster.ids = {"a": "x", "b": "y"}
    stream, _ = reader(cluster, subscribePattern="a|b", failOnDataLoss="false")
    start: Json = {"a": {"0": 0, "id": "x"}, "b": {"0": 0, "id": "y"}}
    end = stream.latestOffset(start, ReadAllAvailable())
    del cluster.end[A0]
    asked = cluster.questions
    assert ranges(stream.partitions(start, end)) == [(0, 0, 5)]
    assert cluster.questions == asked + 2, "where the other topic begins and ends"


def test_records_deleted_while_a_batch_read_them_are_reported_on_the_driver(caplog: pytest.LogCaptureFixture) -> None:
    """Its task can only say so on the executor; whether it had read them by then is not known here."""
    cluster = FakeCluster(a=[10, 10])
    stream, clock = reader(cluster, failOnDataLoss="false")
    end = stream.latestOffset({"a": {"0": 2, "1": 2}}, ReadAllAvailable())
    assert ranges(stream.partitions({"a": {"0": 2, "1": 2}}, end)) == [(0, 2, 10), (1, 2, 10)]
    cluster.first[TopicPartition("a", 1)] = 6
    clock.pass_caches()
    for _ in range(2):
        assert stream.latestOffset(end, ReadAllAvailable()) == end
    assert [record.getMessage() for record in caplog.records] == [
        "records 2 to 5 of a-1 were deleted while a batch read them: what its task had not read by then is missing; "
        "continuing, because failOnDataLoss is false"
    ]


def test_topic_or_partition_that_does_not_exist_is_reported_by_name() -> None:
    with pytest.raises(ConfigError, match="Topic 'a' does not exist at h:1"):
        reader(FakeCluster(b=[1]))[0].initialOffset()


def test_the_position_is_committed_to_a_group_only_with_the_option_commit_offsets_to_group() -> None:
    cluster = FakeCluster(a=[10])
    reader(cluster)[0].latestOffset({"a": {"0": 4}}, ReadAllAvailable())
    assert cluster.committed == {}
    stream, _ = reader(cluster, commitOffsetsToGroup="g")
    end = stream.latestOffset({"a": {"0": 4}}, ReadAllAvailable())
    assert cluster.committed == {"g": {TopicPartition("a", 0): 4}}
    assert stream.latestOffset(end, ReadAllAvailable()) == end, "which ends a query with AvailableNow"
    assert cluster.committed == {"g": {TopicPartition("a", 0): 10}}


def test_a_group_that_refuses_the_position_does_not_end_the_query(caplog: pytest.LogCaptureFixture) -> None:
    class Busy(FakeCluster):
        def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
            raise KafkaError(Error.UNKNOWN_MEMBER_ID, "the group has members")

    stream, _ = reader(Busy(a=[10]), commitOffsetsToGroup="g")
    for _ in range(3):
        assert stream.latestOffset({"a": {"0": 4}}, ReadAllAvailable()) == {"a": {"0": 10}}
    assert caplog.text.count("the position was not committed to group 'g'") == 1


def test_the_reported_latest_offset_is_the_end_of_the_log() -> None:
    stream, _ = reader(FakeCluster(a=[10]))
    assert stream.reportLatestOffset() is None
    stream.latestOffset({"a": {"0": 4}}, ReadMaxRows(1))
    assert stream.reportLatestOffset() == {"a": {"0": 10}}


# --- recreated topics


def made_again(**options: str) -> tuple[FakeCluster, StreamReader, Clock, Json]:
    """A query at offset 100 of two partitions, whose topic now holds 30 records in one."""
    cluster = FakeCluster(a=[100, 100])
    cluster.ids = {"a": "old"}
    stream, clock = reader(cluster, startingOffsets="earliest", **options)
    start = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    assert Place.of(start).ids == {"a": "old"}
    cluster.make_again("a", "new", 30)
    return cluster, stream, clock, start


def test_a_recreated_topic_is_read_from_its_beginning_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    _, stream, clock, start = made_again(failOnDataLoss="false")
    clock.pass_caches()
    end = stream.latestOffset(start, ReadAllAvailable())
    assert end == {"a": {"0": 30, "id": "new"}}
    assert ranges(stream.partitions(start, end)) == [(0, 0, 30)]
    assert [record.getMessage() for record in caplog.records] == [
        "topic a was deleted and recreated (its id was old and is new); continuing, because failOnDataLoss is false"
    ]


def test_a_recreated_topic_stops_a_query_that_may_lose_no_data() -> None:
    _, stream, clock, start = made_again()
    clock.pass_caches()
    with pytest.raises(DataLoss, match=r"topic a was deleted and recreated \(its id was old and is new\)"):
        stream.latestOffset(start, ReadAllAvailable())


def test_a_recreated_topic_with_more_records_than_before_is_detected_too() -> None:
    cluster, stream, _, start = made_again(failOnDataLoss="false")
    cluster.make_again("a", "new", 500, 500)
    end = stream.latestOffset(start, ReadAllAvailable())  # the list of partitions still counts as current
    assert ranges(stream.partitions(start, end)) == [(0, 0, 500), (1, 0, 500)]


def test_a_recreated_topic_with_as_many_records_as_before_is_detected_by_an_idle_query() -> None:
    cluster, stream, clock, start = made_again(failOnDataLoss="false")
    cluster.make_again("a", "old", 100, 100)
    assert stream.latestOffset(start, ReadAllAvailable()) == start
    cluster.make_again("a", "new", 100, 100)
    clock.pass_caches()
    end = stream.latestOffset(start, ReadAllAvailable())
    assert ranges(stream.partitions(start, end)) == [(0, 0, 100), (1, 0, 100)]


def test_a_batch_planned_before_its_topic_was_recreated_reads_nothing_of_the_new_topic() -> None:
    cluster, stream, _, _ = made_again(failOnDataLoss="false")
    planned = {"a": {"0": 40, "1": 40, "id": "old"}}, {"a": {"0": 90, "1": 90, "id": "old"}}
    cluster.make_again("a", "new", 500, 500)
    assert stream.partitions(*planned) == []
    strict, _ = reader(cluster)
    with pytest.raises(DataLoss, match="recreated"):
        strict.partitions(*planned)


def test_a_query_that_tolerates_losses_waits_for_a_topic_that_is_temporarily_missing() -> None:
    cluster, stream, clock, start = made_again(failOnDataLoss="false")
    cluster.make_again("a", "new")
    clock.pass_caches()
    end = stream.latestOffset(start, ReadAllAvailable())
    clock.pass_caches()
    assert stream.latestOffset(end, ReadAllAvailable()) == end
    cluster.make_again("a", "new", 7)
    clock.pass_caches()
    after = stream.latestOffset(end, ReadAllAvailable())
    assert ranges(stream.partitions(end, after)) == [(0, 0, 7)]


@pytest.mark.parametrize("ids", [{}, {"a": "x", "b": "y"}])
def test_a_topic_that_is_deleted_during_a_query_does_not_end_it_if_losses_are_tolerated(ids: dict[str, str]) -> None:
    """The list of partitions still counts as current, and names one that is gone."""
    cluster = FakeCluster(a=[10], b=[5])
    cluster.ids = ids
    stream, _ = reader(cluster, subscribe="a,b", failOnDataLoss="false", startingOffsets="earliest")
    start = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    del cluster.end[TopicPartition("a", 0)]
    cluster.end[TopicPartition("b", 0)] = 7
    end = stream.latestOffset(start, ReadAllAvailable())
    assert ranges(stream.partitions(start, end)) == [(0, 5, 7)]


@pytest.mark.parametrize("ids", [{}, {"a": "x", "b": "y"}])
def test_a_repeated_batch_leaves_out_a_topic_that_was_permanently_deleted(ids: dict[str, str]) -> None:
    cluster = FakeCluster(b=[20])
    cluster.ids = ids
    known = {topic: {"id": id_} for topic, id_ in ids.items()}
    start: Json = {topic: {"0": 5} | known.get(topic, {}) for topic in "ab"}
    end: Json = {topic: {"0": 10} | known.get(topic, {}) for topic in "ab"}
    lenient, _ = reader(cluster, subscribe="b", failOnDataLoss="false")
    assert ranges(lenient.partitions(start, end)) == [(0, 5, 10)]
    assert lenient.partitions({"a": start["a"]}, {"a": end["a"]}) == []
    strict, _ = reader(cluster, subscribe="b")
    with pytest.raises(DataLoss, match="a-0 does not exist any more"):
        strict.partitions(start, end)


def test_a_topic_that_is_deleted_before_its_first_batch_is_left_out_if_losses_are_tolerated() -> None:
    """Found by a pattern and planned, then deleted, then the batch is repeated."""
    cluster = FakeCluster(a=[20])
    start: Json = {"a": {"0": 5}}
    end: Json = {"a": {"0": 10}, "b": {"0": 4}}
    lenient, _ = reader(cluster, subscribePattern="a|b", failOnDataLoss="false")
    assert ranges(lenient.partitions(start, end)) == [(0, 5, 10)]
    strict, _ = reader(cluster, subscribePattern="a|b")
    with pytest.raises(DataLoss, match="b-0 does not exist any more"):
        strict.partitions(start, end)


@pytest.mark.parametrize("reached", [{}, {"b": {"0": 9, "id": "y"}}])
def test_a_topic_that_is_deleted_after_the_target_was_fixed_does_not_end_a_query_that_tolerates_losses(
    reached: Json,
) -> None:
    """Trigger.AvailableNow: a topic that is new to the query, or that it has read uncommitted, beyond what is
    visible.
    """
    cluster = FakeCluster(a=[20], b=[9])
    cluster.ids = {"a": "x", "b": "y"}
    cluster.stable = {TopicPartition("b", 0): 4}
    stream, _ = reader(cluster, subscribePattern="a|b", failOnDataLoss="false")
    stream.prepareForTriggerAvailableNow()
    del cluster.end[TopicPartition("b", 0)], cluster.stable[TopicPartition("b", 0)]
    start: Json = {"a": {"0": 5, "id": "x"}, **reached}
    end = stream.latestOffset(start, ReadAllAvailable())
    assert ranges(stream.partitions(start, end)) == [(0, 5, 20)]
    assert stream.latestOffset(end, ReadAllAvailable()) == end


def test_offsets_of_sparks_own_connector_get_topic_ids() -> None:
    cluster = FakeCluster(a=[10])
    cluster.ids = {"a": "x"}
    stream, _ = reader(cluster)
    assert stream.latestOffset({"a": {"0": 10}}, ReadAllAvailable()) == {"a": {"0": 10, "id": "x"}}


def test_a_query_whose_position_lies_beyond_an_open_transaction_waits_and_loses_no_record() -> None:
    """As when the checkpoint of a query that read uncommitted is taken over: planned to 20, visible to 15."""
    cluster = FakeCluster(a=[20])
    cluster.stable = {TopicPartition("a", 0): 15}
    stream, _ = reader(cluster)
    assert ranges(stream.partitions({"a": {"0": 10}}, {"a": {"0": 20}})) == [(0, 10, 20)]
    assert stream.latestOffset({"a": {"0": 20}}, ReadAllAvailable()) == {"a": {"0": 20}}


# --- the first batch


def test_a_repeated_first_batch_begins_where_it_began_and_not_at_a_new_end() -> None:
    """Spark stores only the ends of batches, and asks for the beginning of the first one again."""
    cluster = FakeCluster(a=[10])
    stream, clock = reader(cluster, maxOffsetsPerTrigger="5")
    start = stream.initialOffset()
    assert start == {"a": {"0": 10}}
    assert stream.latestOffset(start, stream.getDefaultReadLimit()) == start
    cluster.end[TopicPartition("a", 0)] = 20
    clock.pass_caches()
    end = stream.latestOffset(start, stream.getDefaultReadLimit())
    assert end == {"a": {"0": 15, "from": {"0": 10}}}
    cluster.end[TopicPartition("a", 0)] = 50
    restarted, _ = reader(cluster, maxOffsetsPerTrigger="5")
    assert restarted.initialOffset() == {"a": {"0": 50}}
    assert ranges(restarted.partitions(restarted.initialOffset(), end)) == [(0, 10, 15)]
    assert restarted.latestOffset(end, restarted.getDefaultReadLimit()) == {"a": {"0": 20}}


# --- logs that were cut and have grown again


def led(end: int, **options: str) -> tuple[FakeCluster, StreamReader, Clock, Json]:
    """A query that has read all of a partition, whose leader epoch is 3."""
    cluster = FakeCluster(a=[end])
    cluster.epochs[A0] = [(3, 0)]
    stream, clock = reader(cluster, startingOffsets="earliest", **options)
    return cluster, stream, clock, stream.latestOffset(stream.initialOffset(), ReadAllAvailable())


def elected(cluster: FakeCluster, clock: Clock, **log: int) -> None:
    cluster.elect(A0, **log)
    clock.pass_caches()


def test_a_checkpoint_contains_the_epochs_of_the_leaders() -> None:
    _, stream, _, start = led(100)
    assert start == {"a": {"0": 100, "epochs": {"0": 3}, "from": {"0": 0}}}
    assert Place.of(start).as_json() == start
    assert ranges(stream.partitions({"a": {"0": 0}}, start)) == [(0, 0, 100)]


def test_a_new_leader_that_lost_nothing_causes_no_batch_and_is_queried_once() -> None:
    cluster, stream, clock, start = led(100)
    elected(cluster, clock)
    for _ in range(3):
        assert stream.latestOffset(start, ReadAllAvailable()) == start
        clock.pass_caches()
    assert cluster.epoch_questions == 1
    cluster.end[A0] = 120
    clock.pass_caches()
    end = stream.latestOffset(start, ReadAllAvailable())
    assert end == {"a": {"0": 120, "epochs": {"0": 4}}}
    assert ranges(stream.partitions(start, end)) == [(0, 100, 120)]
    assert cluster.epoch_questions == 1


@pytest.mark.parametrize("end", [60, 99, 100, 150])
def test_a_truncated_log_that_has_grown_again_is_data_loss(end: int) -> None:
    """Records 60 to 99 differ from those that the query has read (KIP-320)."""
    cluster, stream, clock, start = led(100)
    planned = stream.latestOffset({"a": {"0": 0}}, ReadAllAvailable())
    elected(cluster, clock, kept=60, end=end)
    with pytest.raises(
        DataLoss, match=r"a-0 was led with epoch 3 .* to offset 100, and .* has been truncated to offset 60"
    ):
        stream.latestOffset(start, ReadAllAvailable())
    again, _ = reader(cluster)
    with pytest.raises(DataLoss, match="truncated to offset 60"):
        again.partitions({"a": {"0": 20}}, planned)


@pytest.mark.parametrize("end", [60, 99, 100, 150])
@pytest.mark.parametrize("options", [{}, {"maxOffsetsPerTrigger": "1000"}, {"minOffsetsPerTrigger": "1"}])
def test_a_truncated_log_that_has_grown_again_is_read_from_the_truncation_if_losses_are_tolerated(
    end: int, options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    cluster, stream, clock, start = led(100, failOnDataLoss="false", **options)
    elected(cluster, clock, kept=60, end=end)
    after = stream.latestOffset(start, stream.getDefaultReadLimit())
    for again in (stream, reader(cluster, failOnDataLoss="false")[0]):
        assert ranges(again.partitions(start, after)) == ([(0, 60, end)] if end > 60 else [])
    assert Place.of(after) == Place({A0: end}, epochs={A0: 4})
    clock.pass_caches()
    assert stream.latestOffset(after, stream.getDefaultReadLimit()) == after
    assert caplog.text.count("truncated to offset 60 since; continuing") == 2, "once a reader"


def test_a_batch_repeated_after_a_truncation_reads_no_records_that_replaced_the_lost_ones() -> None:
    """Those records belong to the next batch, which begins where the log was cut."""
    cluster, stream, clock, _ = led(100, failOnDataLoss="false")
    elected(cluster, clock, kept=60, end=150)
    until: Json = {"a": {"0": 100, "epochs": {"0": 3}}}
    assert ranges(stream.partitions({"a": {"0": 20, "epochs": {"0": 3}}}, until)) == [(0, 20, 60)]
    assert stream.partitions({"a": {"0": 70, "epochs": {"0": 3}}}, until) == []
    end = stream.latestOffset(until, ReadAllAvailable())
    assert ranges(stream.partitions(until, end)) == [(0, 60, 150)]


def test_a_log_that_knows_only_older_epochs_is_recognised_as_replaced(caplog: pytest.LogCaptureFixture) -> None:
    """A restored broker: nobody can tell where its log diverges from what the query has read."""
    cluster, stream, clock, start = led(100, failOnDataLoss="false")
    cluster.epochs[A0], cluster.end[A0] = [(1, 0)], 150
    clock.pass_caches()
    end = stream.latestOffset(start, ReadAllAvailable())
    assert ranges(stream.partitions(start, end)) == [(0, 100, 150)]
    assert "to offset 100, and its log knows only older epochs now; continuing" in caplog.text
    with pytest.raises(DataLoss, match="its log knows only older epochs now"):
        reader(cluster)[0].latestOffset(start, ReadAllAvailable())


def test_a_newer_leader_without_epochs_proves_no_data_loss() -> None:
    """Apache Kafka before 4.0 answers like this for a topic whose records have the format of 0.10."""

    class Formerly(FakeCluster):
        def epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
            return dict.fromkeys(epochs, -1)

    cluster = Formerly(a=[120])
    cluster.epochs[A0] = [(4, 0)]
    stream, _ = reader(cluster)
    start: Json = {"a": {"0": 100, "epochs": {"0": 3}}}
    end = stream.latestOffset(start, ReadAllAvailable())
    assert end == {"a": {"0": 120, "epochs": {"0": 4}}}
    assert ranges(stream.partitions(start, end)) == [(0, 100, 120)]


def test_the_newest_leader_epoch_is_stored_although_the_end_offset_was_fixed_under_an_older_leader() -> None:
    """Trigger.AvailableNow from the end on, which another leader reported after the target was fixed."""
    cluster = FakeCluster(a=[60, 10])
    cluster.epochs = {A0: [(3, 0)], TopicPartition("a", 1): [(3, 0)]}
    stream, clock = reader(cluster, startingOffsets='{"a": {"0": -1, "1": 5}}')
    stream.prepareForTriggerAvailableNow()
    elected(cluster, clock, end=100)
    end = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    assert Place.of(end)._replace(start={}) == Place(
        {A0: 100, TopicPartition("a", 1): 10}, epochs={A0: 4, TopicPartition("a", 1): 3}
    )
    elected(cluster, clock)
    assert reader(cluster)[0].latestOffset(end, ReadAllAvailable()) == end, "nothing was cut"


def test_a_start_offset_is_stored_with_the_epoch_of_the_leader_that_reported_the_offset() -> None:
    """Trigger.AvailableNow asked for the ends, then another leader reported the start."""
    cluster = FakeCluster(a=[60])
    cluster.epochs[A0] = [(3, 0)]
    stream, _ = reader(cluster)
    stream.prepareForTriggerAvailableNow()
    cluster.elect(A0, end=100)
    assert stream.initialOffset() == {"a": {"0": 100, "epochs": {"0": 4}}}


def test_a_repeated_batch_leaves_out_a_deleted_topic_that_had_a_new_leader() -> None:
    cluster = FakeCluster(b=[20])
    start: Json = {topic: {"0": 5, "epochs": {"0": 3}} for topic in "ab"}
    end: Json = {topic: {"0": 10, "epochs": {"0": 4}} for topic in "ab"}
    cluster.epochs[TopicPartition("b", 0)] = [(3, 0), (4, 7)]
    lenient, _ = reader(cluster, subscribe="b", failOnDataLoss="false")
    assert ranges(lenient.partitions(start, end)) == [(0, 5, 10)]
    strict, _ = reader(cluster, subscribe="b")
    with pytest.raises(DataLoss, match="a-0 does not exist any more"):
        strict.partitions(start, end)


def test_a_checkpoint_without_epochs_sends_no_request_and_gets_epochs_with_the_next_batch() -> None:
    """A checkpoint of Spark's own connector."""
    cluster, stream, clock, _ = led(100)
    elected(cluster, clock)
    start: Json = {"a": {"0": 40}}
    assert stream.latestOffset(start, ReadAllAvailable()) == {"a": {"0": 100, "epochs": {"0": 4}}}
    assert stream.latestOffset({"a": {"0": 100}}, ReadAllAvailable()) == {"a": {"0": 100}}
    assert cluster.epoch_questions == 0


def test_tasks_get_the_leader_epoch_and_topic_id_of_the_plan() -> None:
    cluster, stream, _, start = led(100, maxRecordsPerPartition="50")
    cluster.ids = {"a": "x"}
    tasks = [part.value for part in stream.partitions({"a": {"0": 0}}, start)]
    assert tasks == [OffsetRange(A0, 0, 50, 3, "x"), OffsetRange(A0, 50, 100, 3, "x")]


# --- topics without ids


def without_ids(crc: int = 1, **options: str) -> tuple[FakeCluster, StreamReader, Clock, Json]:
    """A query that has planned 100 records of a topic in a cluster that gives no ids, as Kafka 2.7 and older ones."""
    cluster = FakeCluster(a=[100, 0])
    cluster.logs = {"a": crc}
    stream, clock = reader(cluster, startingOffsets="earliest", **options)
    end = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    clock.pass_caches()
    return cluster, stream, clock, end


def make_again_without_id(cluster: FakeCluster, *ends: int) -> None:
    cluster.make_again("a", "", *ends)
    cluster.ids.clear()
    cluster.logs["a"] += 1


def test_a_recreated_topic_without_id_that_is_longer_than_before_is_data_loss() -> None:
    cluster, stream, _, end = without_ids()
    assert [*Place.of(end).marks] == [TopicPartition("a", 0)], "an empty partition has no batch to remember"
    make_again_without_id(cluster, 150, 0)
    with pytest.raises(DataLoss, match="topic a was deleted and recreated, or its log written again: the records be"):
        stream.latestOffset(end, ReadAllAvailable())
    again, _ = reader(cluster)
    with pytest.raises(DataLoss, match="before offset 100 of a-0 are not those that the query planned"):
        again.latestOffset(end, ReadAllAvailable())


def test_a_topic_without_id_that_is_recreated_is_read_from_its_beginning_if_losses_are_tolerated() -> None:
    cluster, stream, clock, start = without_ids(failOnDataLoss="false")
    make_again_without_id(cluster, 150, 20)
    end = stream.latestOffset(start, ReadAllAvailable())
    assert ranges(stream.partitions(start, end)) == [(0, 0, 150), (1, 0, 20)]
    clock.pass_caches()
    cluster.end[TopicPartition("a", 0)] = 160
    assert ranges(stream.partitions(end, stream.latestOffset(end, ReadAllAvailable()))) == [(0, 150, 160)]


def test_a_batch_of_a_topic_without_id_reads_no_record_of_the_recreated_topic() -> None:
    """A batch that was planned and repeated after a crash, also where the part before it was never read."""
    cluster, stream, _, end = without_ids(failOnDataLoss="false")
    start = stream.initialOffset()
    make_again_without_id(cluster, 150, 0)
    assert stream.partitions(start, end) == []
    strict, _ = reader(cluster)
    with pytest.raises(DataLoss, match="topic a was deleted and recreated"):
        strict.partitions(start, end)


def test_an_unchanged_topic_without_id_is_read_further_and_checked_only_for_new_records() -> None:
    cluster, stream, clock, end = without_ids()
    asked = cluster.header_questions
    for _ in range(5):
        assert stream.latestOffset(end, ReadAllAvailable()) == end
    assert cluster.header_questions == asked
    cluster.end[TopicPartition("a", 0)] = 130
    clock.pass_caches()
    assert ranges(stream.partitions(end, stream.latestOffset(end, ReadAllAvailable()))) == [(0, 100, 130)]


def test_reading_continues_after_retention_deleted_the_read_part_of_a_topic_without_id() -> None:
    cluster, stream, clock, end = without_ids()
    cluster.first[TopicPartition("a", 0)], cluster.end[TopicPartition("a", 0)] = 100, 130
    clock.pass_caches()
    assert ranges(stream.partitions(end, stream.latestOffset(end, ReadAllAvailable()))) == [(0, 100, 130)]


def test_a_topic_with_an_id_needs_no_fingerprints() -> None:
    cluster = FakeCluster(a=[100])
    cluster.ids, cluster.logs = {"a": "id"}, {"a": 1}
    stream, _ = reader(cluster, startingOffsets="earliest")
    assert Place.of(stream.latestOffset(stream.initialOffset(), ReadAllAvailable())).marks == {}
    assert cluster.header_questions == 0


def test_a_truncated_log_without_id_is_read_from_the_truncation_on_if_losses_are_tolerated() -> None:
    """Leader epochs tell more than the mark, where there are some."""
    cluster = FakeCluster(a=[100])
    cluster.logs, cluster.epochs = {"a": 1}, {TopicPartition("a", 0): [(0, 0)]}
    stream, clock = reader(cluster, startingOffsets="earliest", failOnDataLoss="false")
    start = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    cluster.elect(TopicPartition("a", 0), kept=60, end=150)
    cluster.logs["a"] = 2
    clock.pass_caches()
    assert ranges(stream.partitions(start, stream.latestOffset(start, ReadAllAvailable()))) == [(0, 60, 150)]


# --- transactions that are being ended


def test_only_reads_up_to_the_end_of_the_log_wait_for_ending_transactions() -> None:
    cluster = FakeCluster(a=[5, 7])
    one, _ = reader(cluster, startingOffsets="earliest")
    start = one.initialOffset()
    cluster.waited_beyond.clear()
    end = one.latestOffset(start, ReadAllAvailable())
    one.latestOffset(end, ReadAllAvailable())
    one.prepareForTriggerAvailableNow()
    one.latestOffset(end, ReadAllAvailable())
    first, second = TopicPartition("a", 0), TopicPartition("a", 1)
    assert cluster.waited_beyond == [{first: 0, second: 0}, {first: 5, second: 7}, None]
