"""The releases of Apache Kafka that the tests of versions start, and the columns of their table."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.apache_kafka import KAFKA_VERSION, ApacheKafka


@dataclass(frozen=True)
class KafkaRelease:
    """One column.

    :param protocol: the ``inter.broker.protocol.version`` that is set, as during an upgrade; else the release's own.
    :param about: what the page says about it.
    """

    name: str
    version: str
    about: str
    protocol: str = ""

    @property
    def release(self) -> tuple[int, int]:
        major, minor, *_ = map(int, self.version.split("."))
        return major, minor

    def node(self) -> ApacheKafka:
        properties = {"inter.broker.protocol.version": self.protocol} if self.protocol else {}
        return ApacheKafka(properties=properties, version=self.version)


RELEASES = {
    one.name: one
    for one in (
        KafkaRelease(
            "2.8 at 2.7", "2.8.2", "with ZooKeeper and inter.broker.protocol.version 2.7: no topic ids", "2.7"
        ),
        KafkaRelease("2.8", "2.8.2", "with ZooKeeper, the oldest that is tested"),
        KafkaRelease("3.4", "3.4.1", "KRaft; lists transactions, does not verify them"),
        KafkaRelease("3.6", "3.6.2", "verifies transactions"),
        KafkaRelease("3.9", "3.9.1", "the last of 3"),
        KafkaRelease("4.0", "4.0.0", "transaction version 2, groups of KIP-848"),
        KafkaRelease("4.3", "4.3.1", "the last before transactions commit offsets by topic id (KIP-1319)"),
        KafkaRelease("4.4", KAFKA_VERSION, "the one that all other tests compare with"),
    )
}
SHORT = ("2.8",)
"""The one that ``make test-all`` has, beside the newest of all other tests: the oldest lacks most."""

__all__ = ["RELEASES", "SHORT", "KafkaRelease"]
