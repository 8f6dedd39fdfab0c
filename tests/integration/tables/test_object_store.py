"""Delta and Iceberg tables in an S3 object store (moto's server): what holds in a folder holds there."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest

from oncelog.errors import OncelogError
from oncelog.spark.sink.engine import BatchOutcome, BatchStep
from oncelog.spark.tables.options import TableFormat, TableOptions
from oncelog.spark.tables.sink import open_store
from tests.integration.tables.test_conflicts import Unheard, once_at
from tests.integration.tables.test_leftovers import ROWS, task
from tests.integration.tables.worlds import SCHEMA, DeltaWorld, IcebergWorld, Query, Row, World

_buckets = itertools.count()
WRITERS = 3
"""Each with so many batches: a batch is overtaken less often than it is tried."""
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print("http://%s:%s" % server.get_host_and_port())
sys.stdin.read()
server.stop()
"""


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of an object store: a process, as delta-rs keeps the interpreter to itself while it waits."""
    command = [sys.executable, "-u", "-c", SERVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.stdin.close()  # ends it


@pytest.fixture(
    params=[TableFormat.DELTA, pytest.param(TableFormat.ICEBERG, marks=pytest.mark.soak)],
    ids=lambda form: str(form.value),
)
def world(request: pytest.FixtureRequest, s3: str, tmp_path: Path) -> World:
    bucket = f"lake-{next(_buckets)}"
    client: Any = boto3.client(
        "s3", endpoint_url=s3, aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1"
    )
    client.create_bucket(Bucket=bucket)
    if request.param is TableFormat.DELTA:
        storage = {
            "AWS_ENDPOINT_URL": s3,
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }
        return DeltaWorld(tmp_path, TableOptions(TableFormat.DELTA, f"s3://{bucket}/flights", storage=storage))
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"s3://{bucket}/warehouse",
        "s3.endpoint": s3,
        "s3.access-key-id": "a",
        "s3.secret-access-key": "b",
        "s3.region": "us-east-1",
    }
    return IcebergWorld(tmp_path, TableOptions(TableFormat.ICEBERG, "lake.flights", catalog=catalog))


@pytest.fixture
def query(world: World) -> Query:
    query = Query(world.folder / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    return query


def test_a_batch_written_by_tasks_is_stored_once(world: World, query: Query) -> None:
    query.write(1, ROWS, made=lambda: task(query))
    assert query.run(1, ROWS, made=lambda: task(query)).outcome is BatchOutcome.SKIPPED
    assert world.read() == [ROWS[0], (0, "a"), *ROWS[1:]]


@pytest.mark.parametrize("takes_effect", [True, False], ids=["committed", "not committed"])
def test_a_commit_whose_answer_is_lost_is_stored_once(world: World, query: Query, takes_effect: bool) -> None:
    query.store = Unheard(query.store, 2, takes_effect=takes_effect)
    assert query.run(1, [(1, "b")]).outcome is BatchOutcome.WRITTEN
    assert query.run(2, [(2, "c")]).outcome is BatchOutcome.WRITTEN
    assert world.read() == [(0, "a"), (1, "b"), (2, "c")]


@pytest.mark.parametrize("step", [BatchStep.PRODUCED, BatchStep.MARKER_ADDED])
def test_commits_of_other_writers_during_the_batch_do_no_harm(world: World, query: Query, step: BatchStep) -> None:
    query.run(1, [(1, "b")], observe=once_at(step, lambda: world.append_as_another((9, "another's"))))
    assert world.read() == [(0, "a"), (1, "b"), (9, "another's")]


def test_queries_that_commit_concurrently_write_each_row_once(world: World) -> None:
    """Each is another query with a sink of the same table; who comes second looks again and repeats."""
    queries = [Query(world.folder / f"q{number}", world.options, query_id=f"q{number}") for number in range(WRITERS)]
    queries[0].run(0, [(0, "first")])
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for batch in range(1 if number == 0 else 0, WRITERS):
                queries[number].run(batch, [(number * 10 + batch, str(number))])
        except OncelogError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    expected: list[Row] = [(number * 10 + batch, str(number)) for number in range(WRITERS) for batch in range(WRITERS)]
    assert world.read() == [(0, "first"), *expected[1:]]


def test_copies_of_a_checkpoint_that_commit_concurrently_write_the_batch_once(world: World, query: Query) -> None:
    """Both have the same plan of batch 1: one writes it, and both count it as written."""
    query.plan(1)
    copies = [query.copied(world.folder / f"copy{number}") for number in range(3)]
    together = threading.Barrier(len(copies))
    reported: list[object] = []

    def write(copy: Query) -> None:
        def wait(reached: BatchStep, batch_id: int | None) -> None:
            if reached is BatchStep.MARKER_ADDED and not waited:
                waited.append(1)
                together.wait(60)

        waited: list[int] = []
        reported.append(copy.write(1, [(1, "b")], observe=wait).outcome)

    threads = [threading.Thread(target=write, args=(copy,)) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reported) == len(copies)
    assert world.read() == [(0, "a"), (1, "b")]


def test_leftovers_in_an_object_store_are_found(world: World, query: Query) -> None:
    query.store.prepare(SCHEMA, query.options)
    task(query)
    query.run(1, ROWS, made=lambda: task(query))
    store = open_store(world.options)
    assert store.leftovers(1) == []
    found = store.leftovers(0)
    assert len(found) == 1
    store.remove(found, 0)
    assert store.leftovers(0) == []
    assert world.read() == [ROWS[0], (0, "a"), *ROWS[1:]]
    assert store.missing_rights() == []


def test_a_bucket_that_does_not_exist_is_reported(world: World) -> None:
    if isinstance(world, DeltaWorld):
        options = replace(world.options, table="s3://no-such-bucket/flights")
    else:
        catalog = {**world.options.catalog, "warehouse": "s3://no-such-bucket/w"}
        options = replace(world.options, catalog=catalog)
    with pytest.raises(OncelogError, match="cannot be read or written"):
        Query(world.folder / "other", options).write(0, [(0, "a")])
