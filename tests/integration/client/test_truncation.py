"""A log that lost records in a crash: a consumer returns to the offset of the cut instead of skipping records
(KIP-320).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.client.aio import Consumer, Producer
from oncelog.client.core.client_errors import LogTruncationError
from oncelog.types import TopicPartition
from tests.integration.client.reading import make_topic, on_loop
from tests.integration.conformance.nodes import Node, partition_folder, running_node

pytestmark = pytest.mark.crash


@pytest.fixture(params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def node(request: pytest.FixtureRequest) -> Iterator[Node]:
    with running_node(request.param, {"oncelog.flush.policy": "none"}) as node:
        yield node


async def write(node: Node, *values: str) -> None:
    """Each record in its own batch."""
    async with Producer(bootstrap_servers=node.bootstrap_servers) as producer:
        for value in values:
            await producer.send_and_wait("t", value.encode())


async def read(consumer: Consumer, count: int) -> list[str]:
    values: list[str] = []
    while len(values) < count:
        for records in (await consumer.getmany(timeout_ms=1000)).values():
            values += [(record.value or b"").decode() for record in records]
    return values


def cut(node: Node, kept: int, of: int) -> None:
    """What a power failure leaves of batches of equal size."""
    log: Path = max(partition_folder(node, "t").glob("*.log"))
    content = log.read_bytes()
    assert len(content) % of == 0
    log.write_bytes(content[: len(content) // of * kept])


@on_loop
async def test_records_that_replace_truncated_records_are_read(node: Node) -> None:
    await make_topic(node.bootstrap_servers, "t")
    await write(node, *(f"old-{n}" for n in range(8)))
    partition = TopicPartition("t", 0)
    settings = {"bootstrap_servers": node.bootstrap_servers, "enable_auto_commit": False}
    async with (
        Consumer(auto_offset_reset="earliest", **settings) as resetting,
        Consumer(auto_offset_reset="none", **settings) as asking,
    ):
        for consumer in (resetting, asking):
            consumer.assign([partition])
            consumer.seek(partition, 0)
            assert await read(consumer, 8) == [f"old-{n}" for n in range(8)]
        async with Consumer("t", group_id="g", auto_offset_reset="earliest", **settings) as committing:
            assert await read(committing, 8) == [f"old-{n}" for n in range(8)]
            await committing.commit()
        node.kill()
        cut(node, 5, 8)
        node.start()
        await write(node, *(f"new-{n}" for n in range(6)))
        assert await read(resetting, 6) == [f"new-{n}" for n in range(6)]
        async with Consumer("t", group_id="g", auto_offset_reset="earliest", **settings) as committed:
            assert await read(committed, 6) == [f"new-{n}" for n in range(6)], "the commit tells the epoch"
        with pytest.raises(LogTruncationError, match="lost records from offset 5 on"):
            await read(asking, 1)
        asking.seek(partition, 5)
        asking.resume(partition)
        assert await read(asking, 6) == [f"new-{n}" for n in range(6)]
