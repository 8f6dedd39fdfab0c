"""``oncelog verify log`` on running brokers over logs that no broker would write, planted in their folders.

The files of a stopped broker are replaced; its clean shutdown stays, so that the next start believes them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from oncelog import Broker
from oncelog.broker.log.file_names import LOG_SUFFIX, TRANSACTION_INDEX_SUFFIX, file_name
from oncelog.broker.log.producers.producer_entry import ProducerStateEntry
from oncelog.broker.log.producers.producer_snapshot import encode_snapshot
from oncelog.broker.log.segments.transaction_index import AbortedTxn, TransactionIndex
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.records.batch import read_header
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call
from tests.support.apache_kafka import ApacheKafka
from tests.support.broken_logs import ALLOWED, BROKEN
from tests.support.made_logs import data, marker

NOW = int(time.time() * 1000) - 60_000
TXN = data(0, pid=1, seq=0, txn=True, at=NOW)
KEPT = {"retention.ms": "-1"}
COMPACTED = {**KEPT, "cleanup.policy": "compact", "min.compaction.lag.ms": str(2**60)}


class Planted(NamedTuple):
    """The logs of partitions, and what is found in them.

    :param aborted: where the transaction index of a partition lists producer 1's transaction from offset 0 on as
        aborted: the offset of its marker.
    :param open: partitions in which producer 1's transaction is open since offset 0 by the snapshot of producers.
    """

    found: list[str]
    logs: Sequence[Sequence[bytes]]
    settings: Mapping[str, str] = KEPT
    aborted: Mapping[int, int] = {}
    open: tuple[int, ...] = ()


def end(offset: int, *, commit: bool = True, epoch: int = 0, after_ms: int = 50) -> bytes:
    return marker(offset, pid=1, epoch=epoch, commit=commit, at=NOW + after_ms)


def plain(offset: int, **more: int) -> bytes:
    return data(offset, at=NOW, **more)  # type: ignore[arg-type]


NOT_SERVED = ("negative delta", "back")
"""Of a last batch that ends before it begins, a broker that starts concludes that the log ends there."""
PLANTED = {
    **{name: Planted(found, [log]) for name, (found, log) in BROKEN.items() if name not in NOT_SERVED},
    **{name: Planted([], [log], aborted={0: 1} if name == "fenced" else {}) for name, (_, log) in ALLOWED.items()},
    "torn": Planted(
        ["torn-transaction"], [[TXN, end(1, epoch=1)], [TXN, end(1, epoch=1, commit=False)]], aborted={1: 1}
    ),
    "torn, older protocol": Planted(
        ["torn-transaction"], [[TXN, end(1)], [TXN, end(1, commit=False, after_ms=90)]], aborted={1: 1}
    ),
    "hanging": Planted(["hanging-transaction"], [[TXN, plain(1)]], open=(0,)),
    "half": Planted(["half-ended-transaction"], [[TXN, end(1, epoch=1, after_ms=-1)], [TXN]], open=(1,)),
    "half, older protocol": Planted(["hanging-transaction"], [[TXN, end(1)], [TXN]], open=(1,)),
    "stable and open": Planted(
        ["stable-offset-past-open", "undecided-shown", "hanging-transaction"], [[TXN, plain(1)]]
    ),
    "held back by nothing": Planted(["stable-offset-behind"], [[TXN, end(1), plain(2)]], open=(0,)),
    "aborted, not listed": Planted(["aborted-shown"], [[TXN, end(1, commit=False)]]),
    "committed, listed as aborted": Planted(["committed-hidden"], [[TXN, end(1)]], aborted={0: 1}),
    "outside, elsewhere": Planted(["outside-transaction"], [[TXN, end(1)], [plain(0, pid=1, seq=0)]]),
    "late marker of nothing": Planted(
        ["marker-epoch-back"],
        [[data(0, pid=1, epoch=3, seq=0, txn=True, at=NOW), end(1, epoch=3), end(2, epoch=2)]],
    ),
    "key came back": Planted(
        ["key-came-back"], [[data(0, keys=[b"a"]), data(4, keys=[b"b"]), data(5, keys=[b"b"]), data(9)]], COMPACTED
    ),
}


def plant(data_folder: Path) -> None:
    for topic, planted in enumerate(PLANTED.values()):
        for partition, log in enumerate(planted.logs):
            folder = data_folder / f"planted-{topic}-{partition}"
            (folder / file_name(0, LOG_SUFFIX)).write_bytes(b"".join(log))
            for snapshot in folder.glob("*.snapshot"):
                snapshot.unlink()
            if partition in planted.open:
                entry = ProducerStateEntry(1, 0, last_timestamp=NOW, current_txn_first_offset=0)
                end_offset = read_header(log[-1]).next_offset
                (folder / f"{end_offset:020d}.snapshot").write_bytes(encode_snapshot([entry]))
            if partition in planted.aborted:
                index = TransactionIndex()
                marked = planted.aborted[partition]
                index.append(AbortedTxn(1, 0, marked, marked + 1))
                (folder / file_name(0, TRANSACTION_INDEX_SUFFIX)).write_bytes(index.encode())


def create_topics(address: str) -> None:
    with Admin(bootstrap_servers=address) as admin:
        admin.create_topics(
            NewTopic(f"planted-{topic}", len(planted.logs), 1, topic_configs=dict(planted.settings))
            for topic, planted in enumerate(PLANTED.values())
        )


def check(broker: RunningBroker) -> None:
    wrong = []
    for topic, (name, planted) in enumerate(PLANTED.items()):
        outcome = call("verify", "log", f"planted-{topic}", "--json", "--bootstrap-server", broker.bootstrap_servers)
        found = list(dict.fromkeys(one["finding"] for one in outcome.json["findings"] if one["verdict"] == "found"))
        if (outcome.code, sorted(found)) != (int(bool(planted.found)), sorted(planted.found)):
            wrong.append(f"{name}: {found}, status {outcome.code}, instead of {planted.found}")
    assert not wrong, "\n".join(wrong)


def test_every_fault_planted_in_a_log_is_found_on_our_broker(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as broker:
        create_topics(broker.bootstrap_servers)
    plant(tmp_path)
    with Broker(data=tmp_path) as broker:
        check(broker)


@pytest.mark.kafka
def test_every_fault_planted_in_a_log_is_found_on_apache_kafka(tmp_path: Path) -> None:
    with ApacheKafka(tmp_path) as kafka:
        create_topics(kafka.bootstrap_servers)
        kafka.stop()
        plant(kafka.data_folder)
        kafka.start()
        check(kafka)
