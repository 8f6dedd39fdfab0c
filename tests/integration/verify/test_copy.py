"""``oncelog verify copy`` between topics and clusters; ``oncelog mirror``'s work recognised by its map."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from oncelog import Broker
from oncelog.apps.verify.copy.copied_topics import MANIFEST, Copy, verify_copy
from oncelog.apps.verify.findings import Report
from oncelog.client.aio.admin.admin import Admin as AsyncAdmin
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import Outcome, call


def verify(broker: RunningBroker, *arguments: object) -> Outcome:
    return call("verify", "copy", *arguments, "--json", env={"ONCELOG_BOOTSTRAP_SERVER": broker.bootstrap_servers})


def counts(outcome: Outcome) -> dict[str, int]:
    found: dict[str, int] = outcome.json["counts"]
    return found


@pytest.fixture
def topics(broker: RunningBroker, unique_name: str) -> tuple[str, str]:
    """A source with 200 committed records and 20 aborted ones in three partitions, and an empty destination."""
    source, dest = f"{unique_name}-a", f"{unique_name}-b"
    create(broker, source, 3)
    create(broker, dest, 2)
    with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=unique_name) as producer:
        for begin in range(0, 200, 50):
            producer.begin_transaction()
            send(producer, source, range(begin, begin + 50))
            producer.commit_transaction()
            producer.begin_transaction()
            for number in range(5):
                producer.send(source, b"aborted", key=b"a%d" % number).get()
            producer.abort_transaction()
    return source, dest


def create(broker: RunningBroker, topic: str, partitions: int) -> None:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(topic, partitions, 1)])


def send(producer: Producer[Any, Any], topic: str, numbers: Any) -> None:
    for number in numbers:
        producer.send(topic, b"v%d" % number, key=b"k%d" % (number % 7), headers=[("id", b"%d" % number)])


def fill(broker: RunningBroker, topic: str, numbers: Any) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        send(producer, topic, numbers)


def test_a_complete_copy_has_no_findings(broker: RunningBroker, topics: tuple[str, str]) -> None:
    fill(broker, topics[1], range(200))
    for by in ("content", "header:id"):
        outcome = verify(broker, *topics, "--by", by).done()
        assert counts(outcome) == {}
        assert outcome.json["looked_at"]["matched"] == 200


def test_lost_duplicated_and_swapped_records_are_found(broker: RunningBroker, topics: tuple[str, str]) -> None:
    numbers = [*range(17), *range(18, 100), 99, 107, *range(100, 107), *range(108, 200)]
    fill(broker, topics[1], numbers)
    outcome = verify(broker, *topics)
    assert outcome.code == 1
    assert counts(outcome) == {"copy-missing": 1, "copy-doubled": 1, "copy-out-of-order": 1}
    (missing,) = [one for one in outcome.json["findings"] if one["finding"] == "copy-missing"]
    assert missing["topic"] == topics[0]
    text = call("verify", "copy", *topics, env={"ONCELOG_BOOTSTRAP_SERVER": broker.bootstrap_servers})
    assert f"199 of {topics[0]} found in {topics[1]}: 3 findings" in text.err


def test_an_altered_record_is_found_by_any_identity(broker: RunningBroker, topics: tuple[str, str]) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        send(producer, topics[1], range(100))
        producer.send(topics[1], b"v0100", key=b"k%d" % (100 % 7), headers=[("id", b"100")])
        send(producer, topics[1], range(101, 200))
    assert counts(verify(broker, *topics, "--by", "header:id")) == {"copy-altered": 1}
    assert counts(verify(broker, *topics)) == {"copy-missing": 1, "copy-extra": 1}
    assert counts(verify(broker, *topics, "--by", "header:id", "--ignore-content").done()) == {}


def test_a_transform_defines_the_expected_copy(
    broker: RunningBroker, topics: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"shop_{topics[0].replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(
        "def even(record):\n    return (record.key, record.value) if int(record.value[1:]) % 2 == 0 else None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    fill(broker, topics[1], range(0, 200, 2))
    assert counts(verify(broker, *topics, "--transform", f"{name}:even").done()) == {}
    assert counts(verify(broker, *topics)) == {"copy-missing": 100}
    assert verify(broker, *topics, "--transform", f"{name}:odd").code == 2


def test_the_copy_can_be_on_another_cluster(broker: RunningBroker, topics: tuple[str, str]) -> None:
    with Broker() as other:
        create(other, topics[1], 1)
        fill(other, topics[1], range(200))
        assert counts(verify(broker, *topics, "--dest-bootstrap-server", other.bootstrap_servers).done()) == {}


def test_a_mirrored_topic_is_compared_by_its_offset_map(broker: RunningBroker, topics: tuple[str, str]) -> None:
    source, _ = topics
    with Broker() as other:
        call(
            "mirror", "--from", broker.bootstrap_servers, "--to", other.bootstrap_servers, "--topic", source, "--once"
        ).done()
        there = ("--dest-bootstrap-server", other.bootstrap_servers, "--by", "mirror:default")
        outcome = verify(broker, source, source, *there).done()
        assert counts(outcome) == {}
        assert outcome.json["looked_at"]["matched"] == 200
        fill(other, source, [1])
        assert counts(verify(broker, source, source, *there)) == {"copy-extra": 1}
        assert verify(broker, source, source, *there[:-1], "mirror:nobody").code == 2


class Interrupted(Exception):
    """Stands for a kill."""


def test_an_interrupted_comparison_continues_where_it_stopped(
    broker: RunningBroker, topics: tuple[str, str], tmp_path: Path
) -> None:
    fill(broker, topics[1], range(1, 200))
    wanted = Copy(*topics, run_rows=20)
    read: list[int] = []

    async def run(most: int) -> Report:
        report = Report()

        def note(amount: int, text: str) -> None:
            read.append(amount)
            if sum(read) > most:
                raise Interrupted

        async with AsyncAdmin(bootstrap_servers=broker.bootstrap_servers) as admin:
            await verify_copy(admin, admin, wanted, tmp_path, report, note)
        return report

    with pytest.raises(Interrupted):
        asyncio.run(run(250))
    saved = json.loads((tmp_path / MANIFEST).read_text())
    assert saved["files"]
    read.clear()
    report = asyncio.run(run(10**9))
    assert report.counts == {"copy-missing": 1}
    assert report.totals.matched == 199
    assert report.totals.records < 399  # the rest had been read before
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_another_comparison_is_refused(
    broker: RunningBroker, topics: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({"settings": [1, "x", "y", "content", ""]}))
    outcome = verify(broker, *topics, "--work-dir", tmp_path)
    assert outcome.code == 2
    assert "was begun for another comparison" in outcome.err


@pytest.mark.parametrize("damage", ['{"settings"', "[]", ""])
def test_a_damaged_comparison_folder_is_refused(
    broker: RunningBroker, topics: tuple[str, str], tmp_path: Path, damage: str
) -> None:
    (tmp_path / MANIFEST).write_text(damage)
    outcome = verify(broker, *topics, "--work-dir", tmp_path)
    assert outcome.code == 2
    assert f"{MANIFEST} in it is damaged" in outcome.err
