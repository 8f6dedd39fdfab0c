"""A checkpoint in an object store under Hadoop's name for it, through pyarrow's real S3 client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.marker import LastWrite
from tests.support.object_store import ObjectStore, object_store


@pytest.fixture
def store(unique_name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """A store whose credentials are in the environment."""
    with object_store(unique_name) as found:
        monkeypatch.setenv("AWS_ENDPOINT_URL", found.url)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "any")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        yield found


def test_a_remote_checkpoint_is_read_and_written(store: ObjectStore) -> None:
    store.objects["ck/metadata"] = b'{"id":"q"}'
    for number in (0, 1):
        plan = b'v1\n{"batchTimestampMs":1700000000000}\n{"in":{"0":%d}}' % number
        store.objects[f"ck/offsets/{number}"] = plan
    store.objects["ck/commits/0"] = b'v1\n{"nextBatchWatermarkMs":0}'
    checkpoint = Checkpoint.open(f"s3a://{store.bucket}/ck")
    assert (checkpoint.query_id(), checkpoint.batches("offsets"), checkpoint.batches("commits")) == ("q", [0, 1], [0])
    assert (checkpoint.ended(0), checkpoint.ended(1), checkpoint.planned(2)) == (True, False, None)
    planned = checkpoint.planned(1)
    assert planned is not None
    assert planned.offsets == '{"in":{"0":1}}'
    assert checkpoint.last_writes() == []
    for since in (0, 1):
        checkpoint.remember(LastWrite("cluster", "g", since))
    assert checkpoint.last_writes() == [LastWrite("cluster", "g", 1)]
    assert checkpoint.remembered("g") == LastWrite("cluster", "g", 1)
