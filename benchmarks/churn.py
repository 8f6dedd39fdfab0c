"""The load of ``soak``: short-lived clients. The memory of a broker that keeps something of each gone client would
grow.

The clients are transactional producers under 220 ids, idempotent producers, groups of both protocols under 120 ids,
five topics that are created, written, read and deleted every two seconds, admins, and writers of a topic whose oldest
segments retention removes. Each kind has a thread of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from time import monotonic

from oncelog import Admin, Consumer, NewTopic, Producer, TopicPartition
from oncelog.errors import OncelogError

TRANSACTIONAL_IDS, GROUP_IDS, TOPICS_AT_ONCE, PAUSE_S = 220, 120, 5, 2.0
STAYS, SHORT = "stays", "short"
"""The name of a topic that exists during the whole run, and of a topic whose oldest segments retention removes."""
PARTITIONS = 6


class Churn:
    """Runs short-lived clients of one broker, from :meth:`start` to :meth:`stop`.

    :ivar done: how often each kind of client has done each action.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = bootstrap_servers
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.done: dict[str, int] = {}
        self.failures: list[str] = []

    def start(self) -> None:
        short = {"segment.bytes": "1048576", "retention.bytes": "2000000"}
        with Admin(bootstrap_servers=self._servers) as admin:
            topics = [
                NewTopic(STAYS, PARTITIONS),
                NewTopic(SHORT, 2, topic_configs={**short, "file.delete.delay.ms": "1000"}),
            ]
            admin.create_topics(topics)
        for once in (self._transaction, self._idempotent, self._group, self._topics, self._admin, self._short):
            thread = threading.Thread(target=self._repeat, args=(once,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop; returns when every client has ended."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, once: Callable[[int], None]) -> None:
        name = once.__name__.strip("_")
        for number in count():
            if self._over.is_set():
                return
            try:
                once(number)
            except OncelogError as error:
                self.failures.append(f"{name}: {error}")
            self.done[name] = number + 1

    def _transaction(self, number: int) -> None:
        name = f"churn-{number % TRANSACTIONAL_IDS}"
        with Producer(bootstrap_servers=self._servers, transactional_id=name) as producer:
            for commits in (True, False):
                producer.begin_transaction()
                for partition in range(3):
                    producer.send(STAYS, b"v" * 100, partition=partition)
                (producer.commit_transaction if commits else producer.abort_transaction)()

    def _idempotent(self, number: int) -> None:
        with Producer(bootstrap_servers=self._servers) as producer:
            for partition in range(PARTITIONS):
                producer.send(STAYS, b"%d" % number, partition=partition)

    def _group(self, number: int) -> None:
        protocol = ("classic", "consumer")[number % 2]
        name = f"{protocol}-{number // 2 % (GROUP_IDS // 2)}"
        with Consumer(STAYS, bootstrap_servers=self._servers, group_id=name, group_protocol=protocol) as consumer:
            consumer.getmany(timeout_ms=200)
            consumer.commit({TopicPartition(STAYS, 0): number})

    def _topics(self, number: int) -> None:
        begun = monotonic()
        names = [f"churn-{number}-{index}" for index in range(TOPICS_AT_ONCE)]
        with Admin(bootstrap_servers=self._servers) as admin:
            admin.create_topics([NewTopic(name, 2) for name in names])
            with Producer(bootstrap_servers=self._servers) as producer:
                for name in names:
                    for partition in range(2):
                        producer.send(name, b"v" * 100, partition=partition)
            with Consumer(*names, bootstrap_servers=self._servers, auto_offset_reset="earliest") as consumer:
                consumer.getmany(timeout_ms=500)
            admin.delete_topics(names)
        self._over.wait(max(begun + PAUSE_S - monotonic(), 0))

    def _admin(self, number: int) -> None:
        with Admin(bootstrap_servers=self._servers) as admin:
            admin.describe_cluster()
            admin.describe_topics([STAYS])
            admin.list_consumer_groups()
            admin.list_transactions()

    def _short(self, number: int) -> None:
        with Producer(bootstrap_servers=self._servers) as producer:
            for _ in range(20):
                producer.send(SHORT, b"v" * 50_000, partition=number % 2)
        with Consumer(bootstrap_servers=self._servers) as consumer:
            consumer.assign([TopicPartition(SHORT, number % 2)])
            consumer.seek_to_beginning()
            consumer.getmany(timeout_ms=100)


@contextmanager
def churning(bootstrap_servers: str) -> Iterator[Churn]:
    """Run short-lived clients until the block ends."""
    churn = Churn(bootstrap_servers)
    churn.start()
    try:
        yield churn
    finally:
        churn.stop()
