"""What the tests of the client share: topics, and reading back with another client."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, ParamSpec

from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import TopicPartition as ConfluentPartition

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.core.admin.admin_types import NewTopic

P = ParamSpec("P")


def on_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test that is a coroutine."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def make_topic(servers: str, name: str, partitions: int = 1, **configs: str) -> str:
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    async with Admin(bootstrap_servers=servers) as admin:
        await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=settings)])
    return name


class Seen(NamedTuple):
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def read_back(
    servers: str, topic: str, partitions: int = 1, isolation: str = "read_committed", *, written: bool = False
) -> list[Seen]:
    """Everything in the topic as librdkafka sees it, up to the end, partition by partition.

    :param written: others write meanwhile: read at least to where the end was, for librdkafka may never see one.
    """
    consumer = ConfluentConsumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([ConfluentPartition(topic, number, 0) for number in range(partitions)])
        seen: list[Seen] = []
        ended: set[int] = set()
        last: dict[int, int] = {}
        for number in range(partitions) if written else ():
            low, end = consumer.get_watermark_offsets(ConfluentPartition(topic, number), 120)
            last[number] = end - 1
            if low == end:
                ended.add(number)
        while len(ended) < partitions:
            message = consumer.poll(120)
            assert message is not None, f"{topic} was not read to its end"
            partition, offset, error = message.partition(), message.offset(), message.error()
            assert partition is not None and offset is not None
            if error is not None:
                assert error.name() == "_PARTITION_EOF", error
                ended.add(partition)
                continue
            if partition in last and offset >= last[partition]:
                ended.add(partition)
            headers = tuple(message.headers() or ())
            seen.append(Seen(partition, offset, message.key(), message.value(), headers))
        return sorted(seen)
    finally:
        consumer.close()


def values(servers: str, topic: str, partitions: int = 1, isolation: str = "read_committed") -> list[bytes | None]:
    return [item.value for item in read_back(servers, topic, partitions, isolation)]


async def eventually(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """The first true value of ``condition``."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not (value := condition()):
        assert loop.time() < end, "the condition did not come true"
        await asyncio.sleep(0.02)
    return value
