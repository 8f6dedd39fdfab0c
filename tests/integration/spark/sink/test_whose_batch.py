"""``for_each_batch`` in threads that outlive it, and with one topic name on two clusters: which query a batch
belongs to.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from oncelog import Broker
from oncelog.errors import ConfigError
from oncelog.spark.session import for_each_batch
from tests.integration.spark.kafka_records import committed, create_topic, produce, values, wait_until_settled
from tests.integration.spark.sink.test_marker import Job, RunningBroker
from tests.support.restarted_queries import run_to_the_end

Sink = Callable[[DataFrame, int], None]


class LongLived:
    """A thread that Spark's own thread starts in the first batch, and that writes all later ones too."""

    def __init__(self, kind: type[threading.Thread]) -> None:
        self._kind = kind
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def write(self, sink: Sink, rows: DataFrame, batch_id: int) -> None:
        if self._thread is None:
            self._thread = self._kind(target=self._run, daemon=True)
            self._thread.start()
        self._work.put(lambda: sink(rows, batch_id))
        if (error := self._done.get(timeout=600)) is not None:
            raise error

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
                self._done.put(error)
            else:
                self._done.put(None)

    def stop(self) -> None:
        self._work.put(None)


@pytest.mark.parametrize("kind", [InheritableThread, pytest.param(threading.Thread, marks=pytest.mark.soak)])
def test_a_reused_thread_writes_batches_of_later_runs_and_of_other_queries(
    spark: SparkSession, oncelog_broker: RunningBroker, tmp_path: Path, unique_name: str, kind: type[threading.Thread]
) -> None:
    """Its properties stay those of the batch in which it began, if it has any; the rows are those of this one."""
    thread = LongLived(kind)
    jobs = [Job(spark, oncelog_broker, f"{unique_name}-{n}", tmp_path / str(n)) for n in range(2)]

    def run(job: Job) -> None:
        job.send()
        sink = for_each_batch({"kafka.bootstrap.servers": job.address, "topic": job.sink})
        writer = job._rows().writeStream.foreachBatch(lambda rows, batch_id: thread.write(sink, rows, batch_id))
        writer = writer.option("checkpointLocation", str(job.checkpoint))
        run_to_the_end(writer.trigger(availableNow=True).start)
        wait_until_settled(job.address, job.sink)

    for job in (jobs[0], jobs[0], jobs[1]):
        run(job)
    thread.stop()
    assert jobs[0].numbers() == list(range(20))
    assert jobs[1].numbers() == list(range(10))
    assert [job.batch() for job in jobs] == [1, 0]


def test_query_with_format_starts_in_a_thread_whose_session_is_active(
    spark: SparkSession, oncelog_broker: RunningBroker, tmp_path: Path, unique_name: str
) -> None:
    """Spark finds the sink only there; the page for troubleshooting says how a thread gets an active session."""
    job = Job(spark, oncelog_broker, unique_name, tmp_path)
    job.send()
    printed: list[str] = []

    def start() -> None:
        with pytest.raises(Py4JJavaError) as caught:
            job.run()
        printed.append(str(caught.value))
        spark.createDataFrame([(1,)], "a int")
        job.run()

    thread = InheritableThread(target=start)
    thread.start()
    thread.join(600)
    assert "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: oncelog" in printed[0]
    assert job.numbers() == list(range(10))


def test_rows_kept_by_another_query_are_not_attributed_to_it(
    spark: SparkSession, oncelog_broker: RunningBroker, tmp_path: Path, unique_name: str
) -> None:
    """On the left of a join, such rows give the result their session; if both queries have the same batch number,
    neither is certain.
    """
    kept: dict[str, DataFrame] = {}
    seen, through = threading.Event(), threading.Event()
    a, b = (Job(spark, oncelog_broker, f"{unique_name}-{n}", tmp_path / str(n)) for n in range(2))
    a.send(20)
    b.send(20)
    b.reading = {"maxOffsetsPerTrigger": "10"}

    def keep(rows: DataFrame, batch_id: int) -> None:
        kept[str(batch_id)] = rows.persist()
        seen.set()
        assert through.wait(600)

    sink = for_each_batch({"kafka.bootstrap.servers": b.address, "topic": b.sink})
    refused: list[str] = []

    def join(rows: DataFrame, batch_id: int) -> None:
        joined = kept["0"].join(rows, "value")
        if batch_id > 0:
            sink(joined, batch_id)
            return
        try:
            sink(joined, batch_id)
        except ConfigError as error:
            refused.append(str(error))
        sink(rows, batch_id)

    def begin(job: Job, write: Sink) -> StreamingQuery:
        writer = job._rows().writeStream.foreachBatch(write).option("checkpointLocation", str(job.checkpoint))
        return writer.trigger(availableNow=True).start()

    holding = begin(a, keep)
    try:
        assert seen.wait(600)
        run_to_the_end(lambda: begin(b, join))
    finally:
        through.set()
        holding.awaitTermination()
    wait_until_settled(b.address, b.sink)
    assert sorted(b.numbers()) == list(range(20))
    assert b.batch() == 1
    assert len(refused) == 1
    assert all(query_id in refused[0] for query_id in (str(holding.id), "both queries are in that batch"))


@pytest.fixture
def two_clusters(oncelog_broker: RunningBroker) -> Iterator[list[RunningBroker]]:
    with Broker() as other:
        yield [oncelog_broker, other]


@pytest.mark.soak
def test_one_topic_name_on_two_clusters_is_two_sources_and_two_sinks(
    spark: SparkSession, two_clusters: list[RunningBroker], unique_name: str, tmp_path: Path
) -> None:
    """Sources are told apart by their place in the query; sinks by the names that they must be given."""
    addresses = [broker.bootstrap_servers for broker in two_clusters]
    source, target = f"{unique_name}-in", f"{unique_name}-out"
    for address in addresses:
        for topic in (source, target):
            create_topic(address, topic)

    def rows_of(address: str) -> DataFrame:
        given = {"kafka.bootstrap.servers": address, "subscribe": source, "startingOffsets": "earliest"}
        return spark.readStream.format("oncelog").options(**given).load().select("value")

    def run(checkpoint: str, *names: str) -> None:
        sinks = [
            for_each_batch({"kafka.bootstrap.servers": address, "topic": target}, name=name)
            for address, name in zip(addresses, names, strict=True)
        ]

        def both(rows: DataFrame, batch_id: int) -> None:
            for sink in sinks:
                sink(rows, batch_id)

        rows = rows_of(addresses[0]).union(rows_of(addresses[1]))
        writer = rows.writeStream.foreachBatch(both).option("checkpointLocation", str(tmp_path / checkpoint))
        run_to_the_end(writer.trigger(availableNow=True).start)

    sent: list[bytes] = []
    for start in (0, 10):
        for number, address in enumerate(addresses):
            new = [b"%d:of cluster %d" % (n, number) for n in range(start, start + 5 + number)]
            produce(address, source, new)
            sent += new
        run("named", "first", "second")
        for address in addresses:
            wait_until_settled(address, target)
            assert sorted(values(committed(address, target))) == sorted(sent)
    with pytest.raises(PySparkException, match=r"called twice for batch 0: .* each with a name of its own"):
        run("unnamed", "", "")
