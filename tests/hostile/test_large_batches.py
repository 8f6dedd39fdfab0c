"""Large and small batches of many clients in one partition, while topics come and go: none lost, torn or mixed."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from random import Random
from typing import Any

import oncelog
from oncelog.errors import KafkaError

CLIENTS = 6
ROUNDS = 25
PARTITIONS = 2
LARGE: dict[str, Any] = {"max_request_size": 2_000_000, "linger_ms": 0}


def value(client: int, number: int) -> bytes:
    """Of any size around the limit from which batches are written elsewhere; shows when a byte of it is another's."""
    rng = Random(client * 1000 + number)
    body = rng.randbytes(rng.choice([10, 5_000, 200_000, 300_000, 900_000]))
    return b"%d %d " % (client, number) + hashlib.sha256(body).digest() + body


def test_large_and_small_batches_go_to_the_same_partitions(tmp_path: Path) -> None:
    with oncelog.Broker(tmp_path / "data", settings={"auto.create.topics.enable": "false"}) as broker:
        with oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([oncelog.NewTopic("t", PARTITIONS)])
        failures: list[BaseException] = []
        acknowledged: dict[int, list[int]] = {}

        def produce(client: int) -> None:
            try:
                with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers, **LARGE) as producer:
                    sent = [
                        producer.send("t", value(client, number), partition=client % PARTITIONS)
                        for number in range(ROUNDS)
                    ]
                    acknowledged[client] = [future.result(60).offset for future in sent]
            except BaseException as error:
                failures.append(error)
                raise

        def replace_a_topic() -> None:
            try:
                with (
                    oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
                    oncelog.Producer(
                        bootstrap_servers=broker.bootstrap_servers,
                        request_timeout_ms=2_000,
                        delivery_timeout_ms=3_000,  # a topic that is gone may come back: the producer tries again
                        **LARGE,
                    ) as producer,
                ):
                    for _ in range(5):
                        admin.create_topics([oncelog.NewTopic("short-lived", 1)])
                        sent = [producer.send("short-lived", bytes(900_000), partition=0) for _ in range(5)]
                        sent[0].result(60)
                        admin.delete_topics(["short-lived"])
                        for future in sent:
                            try:
                                future.result(60)
                            except KafkaError:
                                continue
            except BaseException as error:
                failures.append(error)
                raise

        threads = [threading.Thread(target=produce, args=(client,)) for client in range(CLIENTS)]
        threads.append(threading.Thread(target=replace_a_topic))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        assert not failures
        assert set(acknowledged) == set(range(CLIENTS))
    with oncelog.Broker(tmp_path / "data") as broker:  # what the files hold
        found: dict[int, list[tuple[int, int]]] = {client: [] for client in range(CLIENTS)}
        with oncelog.Consumer(
            "t", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer:
            left = CLIENTS * ROUNDS
            while left:
                for records in consumer.getmany(timeout_ms=10_000).values():
                    for record in records:
                        assert record.value is not None
                        client, number, rest = record.value.split(b" ", 2)
                        assert record.value == value(int(client), int(number)), rest[:32]
                        found[int(client)].append((int(number), record.offset))
                        left -= 1
    for number_of_client, read in found.items():
        assert read == list(enumerate(acknowledged[number_of_client]))
