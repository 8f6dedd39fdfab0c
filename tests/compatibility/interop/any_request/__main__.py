"""``python -m tests.compatibility.interop.any_request --seeds 5 --steps 150``: where our answers differ from Apache
Kafka's.

Random requests of every API and version, in sequences, go to our broker and to a real Apache Kafka in the same order;
what differs is printed with its seed and step, each kind twice. Not a test: the two are known to differ where Apache
Kafka answers by accident, and the sequences go on from there.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from oncelog import Broker
from oncelog.broker.core.registry import READ_ONLY, SERVED
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import request_type
from tests.compatibility.interop.any_request.sides import Side, until
from tests.compatibility.interop.any_request.values import LikelySource, likely
from tests.support.apache_kafka import ApacheKafka
from tests.unit.protocol.message_values import make_message

NOT_ASKED: Final = frozenset(
    {
        *(ApiKey.UPDATE_FEATURES, ApiKey.API_VERSIONS, ApiKey.DESCRIBE_QUORUM, ApiKey.ELECT_LEADERS),
        *(ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE),
        *(ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS, ApiKey.DESCRIBE_ACLS),
    }
)
"""APIs that change what all others mean, need a login or an authorizer, or describe the node itself."""
CHANGES: Final = frozenset(
    {
        *(ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.ALTER_CONFIGS),
        *(ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.ALTER_CLIENT_QUOTAS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    }
)
"""Metadata errors: Apache Kafka answers before its broker knows of a change."""
WRITES_MARKERS: Final = frozenset({ApiKey.INIT_PRODUCER_ID, ApiKey.END_TXN, ApiKey.WRITE_TXN_MARKERS})
OFTEN: Final = {
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 6,
    ApiKey.JOIN_GROUP: 4,
    **dict.fromkeys((ApiKey.PRODUCE, ApiKey.INIT_PRODUCER_ID), 3),
    **dict.fromkeys((ApiKey.FETCH, ApiKey.SYNC_GROUP, ApiKey.END_TXN, ApiKey.OFFSET_COMMIT), 2),
}
TRANSIENT: Final = (6, 14, 15, 16, 51)
TRIES: Final = 12
INDEX: Final = re.compile(r"\[[0-9]+\]")
TOPICS: Final[dict[str, dict[str, str]]] = {"t0": {}, "t1": {}, "keyed": {"cleanup.policy": "compact"}}
SETTINGS: Final = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.compatibility.interop.any_request", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--steps", type=int, default=150)
    arguments = parser.parse_args()
    asked: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        with (
            tempfile.TemporaryDirectory(prefix="oncelog-any-request-") as folder,
            ApacheKafka(properties=SETTINGS) as kafka,
            Broker(f"{folder}/data", settings=SETTINGS) as ours,
        ):
            Pair(ours, kafka, seed, asked, seen).run(arguments.steps)
    print(f"{asked.total()} requests of {len(asked)} APIs; differences by kind:")
    for kind, count in sorted(seen.items()):
        print(f"{count:4} {kind}")


class Pair:
    """Both brokers under one sequence of requests."""

    def __init__(self, ours: Broker, kafka: ApacheKafka, seed: int, asked: Counter[str], seen: Counter[str]) -> None:
        now_ms = int(time.time() * 1000) - 100_000
        self.ours, self.kafka = self.sides = [Side(each.bootstrap_servers, now_ms) for each in (ours, kafka)]
        self.seed, self.asked, self.seen = seed, asked, seen
        self.chance = random.Random(seed)

    def run(self, steps: int) -> None:
        for side in self.sides:
            side.prepare(TOPICS)
        self._settle()
        keys = [key for key in SERVED if key not in NOT_ASKED]
        for step in range(steps):
            (key,) = self.chance.choices(keys, [OFTEN.get(ApiKey(key), 1) for key in keys])
            row = SERVED[key]
            self._ask(step, ApiKey(key), self.chance.randint(row.low, row.high), str(self.chance.getrandbits(60)))
        for side in self.sides:
            side.close()

    def _ask(self, step: int, key: ApiKey, version: int, seed: str) -> None:
        name = request_type(key).__name__
        api = name.removesuffix("Request")
        mine, theirs = (make_message(name, version, LikelySource(seed, side, api), likely) for side in self.sides)
        if is_known(key, version, mine):
            return
        self.asked[api] += 1
        found, reference = self.ours.call(mine, version), self.kafka.call(theirs, version)
        for side, answer in zip(self.sides, (found, reference), strict=True):
            side.learn(answer)
        ours, kafka = self.ours.comparable(found), self.kafka.comparable(reference)
        for _ in range(TRIES):
            if ours == kafka or not (key in READ_ONLY or _is_transient(kafka)):
                break
            time.sleep(0.1)
            reference = self.kafka.call(theirs, version)
            self.kafka.learn(reference)
            kafka = self.kafka.comparable(reference)
        if ours != kafka:
            first = next(_differences(ours, kafka))
            kind = f"{api} {INDEX.sub('[]', first)[:200]}"
            self.seen[kind] += 1
            if self.seen[kind] <= 2:
                print(f"seed {self.seed} step {step} {api} {version}: {first}\n  asked {mine}\n  ours  {ours}")
                print(f"  Kafka {kafka}", flush=True)
        if key in CHANGES:
            self._settle()
        if key in WRITES_MARKERS:
            until(lambda: all(side.transactions_rest() for side in self.sides), lambda: "a marker is in flight")

    def _settle(self) -> None:
        """Tell each the names that the other knows."""
        until(
            lambda: self.ours.topics_now() == self.kafka.topics_now(),
            lambda: f"topics: ours {self.ours.topics_now()} Kafka {self.kafka.topics_now()}",
        )
        for side in self.sides:
            side.learn_topics()


def is_known(key: ApiKey, version: int, request: Any) -> bool:
    """Whether Apache Kafka answers it by accident or not at all, or whether it would end the sequence."""
    match key:
        case ApiKey.ADD_PARTITIONS_TO_TXN:
            return version > 3  # from brokers alone; without a transaction there is no answer
        case ApiKey.PRODUCE:
            parts = [(t.name, t.topic_id, p.index) for t in request.topic_data for p in t.partition_data]
            nulls = any(part.records is None for topic in request.topic_data for part in topic.partition_data)
            return nulls or len(set(parts)) < len(parts)
        case ApiKey.JOIN_GROUP:
            return len({protocol.name for protocol in request.protocols}) < len(request.protocols)
        case ApiKey.FETCH | ApiKey.LIST_OFFSETS:
            return request.isolation_level not in (0, 1)
        case ApiKey.WRITE_TXN_MARKERS:
            return any(
                min(marker.producer_id, marker.producer_epoch) < 0
                or any(len(set(t.partition_indexes)) < len(t.partition_indexes) for t in marker.topics)
                for marker in request.markers
            )
        case ApiKey.DESCRIBE_TOPIC_PARTITIONS:
            return any(not topic.name for topic in request.topics)
        case ApiKey.ALTER_USER_SCRAM_CREDENTIALS:
            return any(not upsertion.salted_password for upsertion in request.upsertions)
        case ApiKey.DELETE_TOPICS | ApiKey.CREATE_PARTITIONS | ApiKey.DELETE_RECORDS:
            return "__consumer" in repr(request)
    return False


def _is_transient(answer: Any) -> bool:
    text = repr(answer)
    return any(f"'{name}': {code}" in text for name in ("error_code", "partition_error_code") for code in TRANSIENT)


def _differences(ours: Any, kafka: Any, path: str = "") -> Iterator[str]:
    """Where two answers differ, the first difference first."""
    if isinstance(ours, dict) and isinstance(kafka, dict):
        for name in ours:
            yield from _differences(ours[name], kafka.get(name), f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(kafka, list) and len(ours) == len(kafka):
        for index, (mine, theirs) in enumerate(zip(ours, kafka, strict=True)):
            yield from _differences(mine, theirs, f"{path}[{index}]")
    elif ours != kafka:
        yield f"{path}: ours {ours!r} Kafka {kafka!r}"


if __name__ == "__main__":
    main()
