"""``oncelog transactions`` and ``consume --show-transactions``, on transactions of another client."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from oncelog import Broker
from oncelog import Producer as OwnProducer
from tests.integration.cli.conftest import Served, call
from tests.support.shared_kafka import RunningKafka


@pytest.fixture
def topic(served: Served, unique_name: str) -> str:
    """A topic that :func:`_fill` has written."""
    served.run("topics", "create", unique_name).done()
    _fill(served.bootstrap_servers, unique_name)
    return unique_name


def _fill(servers: str, unique_name: str) -> None:
    """Writes aborted, plain and committed records, then an open transaction followed by a committed one and a plain
    record.
    """

    def producer(name: str) -> Producer:
        made = Producer({"bootstrap.servers": servers, "transactional.id": f"{unique_name}-{name}"})
        made.init_transactions()
        return made

    plain = Producer({"bootstrap.servers": servers})

    def write(with_producer: Producer, value: str) -> None:
        with_producer.produce(unique_name, value.encode())
        with_producer.flush()

    first, second = producer("1"), producer("2")
    first.begin_transaction()
    write(first, "aborted")
    write(plain, "plain")
    first.abort_transaction()
    first.begin_transaction()
    write(first, "committed")
    first.commit_transaction()
    second.begin_transaction()
    write(second, "open")
    first.begin_transaction()
    write(first, "committed behind")
    first.commit_transaction()
    first.begin_transaction()
    write(first, "aborted behind")
    first.abort_transaction()
    write(plain, "plain behind")


OUTCOMES = [
    ("aborted", "aborted"),
    ("not transactional", "plain"),
    ("abort marker", None),
    ("committed", "committed"),
    ("commit marker", None),
    ("open", "open"),
    ("committed", "committed behind"),
    ("commit marker", None),
    ("aborted", "aborted behind"),
    ("abort marker", None),
    ("not transactional", "plain behind"),
]


def test_show_transactions_reports_the_outcome_of_every_stored_record(served: Served, topic: str) -> None:
    shown = served.run("consume", "--topic", topic, "--show-transactions", "--to-end", "--json").done().json_lines
    assert [(line["outcome"], line.get("value")) for line in shown] == OUTCOMES
    assert [line["offset"] for line in shown] == list(range(11))
    assert [line["control"] for line in shown] == ["marker" in outcome for outcome, _ in OUTCOMES]
    # from the middle of a transaction, and as text
    text = served.run("consume", "--topic", topic, "--show-transactions", "--offset", 8, "--max-messages", 2).done().out
    headings, first, second = text.splitlines()
    assert headings.split("\t")[:4] == ["PARTITION:OFFSET", "OUTCOME", "PRODUCER-ID/EPOCH", "TRANSACTIONAL-ID"]
    assert first.split("\t")[3] == f"{topic}-1"
    assert first.split("\t")[:2] == [f"{topic}-0:8", "aborted"]
    assert second.split("\t")[:2] == [f"{topic}-0:9", "abort marker"]


def test_transaction_outcomes_of_records_on_apache_kafka_are_shown(
    apache_kafka: RunningKafka, unique_name: str
) -> None:
    to_it = ("--bootstrap-server", apache_kafka.bootstrap_servers)
    call("topics", "create", unique_name, "--partitions", 1, *to_it).done()
    _fill(apache_kafka.bootstrap_servers, unique_name)
    shown: list[tuple[str, str | None]] = []
    while len(shown) < len(OUTCOMES):  # its markers come after the answer to EndTxn
        lines = call("consume", "--topic", unique_name, "--show-transactions", "--to-end", "--json", *to_it).done()
        shown = [(line["outcome"], line.get("value")) for line in lines.json_lines]
    assert {value: outcome for outcome, value in shown if value} == {
        value: outcome for outcome, value in OUTCOMES if value
    }
    assert sorted(outcome for outcome, value in shown if not value) == sorted(
        outcome for outcome, value in OUTCOMES if not value
    )
    visible = call("consume", "--topic", unique_name, "--from-beginning", "--to-end", *to_it).done().out
    assert visible.splitlines() == ["plain", "committed"]
    history = call("transactions", "history", f"{unique_name}-2", "--json", *to_it).done().json
    assert [row["state"] for row in history] == ["Empty", "Ongoing"]
    producers = call("transactions", "describe-producers", "--topic", unique_name, "--json", *to_it).done().json
    assert [row["open_from_offset"] for row in producers if row["open_from_offset"] is not None] == [
        shown.index(("open", "open"))
    ]
    assert call("transactions", "find-hanging", "--topic", unique_name, "--json", *to_it).done().json == []
    call("transactions", "fence", f"{unique_name}-2", *to_it).done()
    (described,) = call("transactions", "describe", f"{unique_name}-2", "--json", *to_it).done().json
    assert (described["state"], described["partitions"]) == ("Empty", [])


def test_list_and_describe_show_the_state_and_partitions_of_a_transaction(served: Served, topic: str) -> None:
    states = {row["transactional_id"]: row["state"] for row in served.run("transactions", "list", "--json").done().json}
    assert states[f"{topic}-1"] == "CompleteAbort"
    assert states[f"{topic}-2"] == "Ongoing"
    ongoing = served.run("transactions", "list", "--state", "Ongoing", "--json").done().json
    assert f"{topic}-1" not in {row["transactional_id"] for row in ongoing}
    (described,) = served.run("transactions", "describe", f"{topic}-2", "--json").done().json
    assert (described["state"], described["partitions"]) == ("Ongoing", [f"{topic}-0"])
    assert described["open_for_ms"] >= 0


def test_history_shows_every_state_transition_of_a_transactional_id(served: Served, topic: str) -> None:
    rows = served.run("transactions", "history", f"{topic}-1", "--json").done().json
    assert [row["state"] for row in rows] == [
        "Empty",
        *("Ongoing", "PrepareAbort", "CompleteAbort"),
        *("Ongoing", "PrepareCommit", "CompleteCommit"),
        *("Ongoing", "PrepareCommit", "CompleteCommit"),
        *("Ongoing", "PrepareAbort", "CompleteAbort"),
    ]
    assert rows[1]["partitions"] == [f"{topic}-0"]
    text = served.run("transactions", "history", f"{topic}-2").done().out
    assert "state=Ongoing" in text.splitlines()[1]


def test_producers_of_a_partition_shows_the_producer_that_holds_readers_back(served: Served, topic: str) -> None:
    rows = served.run("transactions", "describe-producers", "--topic", f"{topic}:0", "--json").done().json
    assert [row["open_from_offset"] for row in rows if row["open_from_offset"] is not None] == [5]


def test_a_transaction_that_its_coordinator_knows_is_not_hanging(served: Served, topic: str) -> None:
    assert served.run("transactions", "find-hanging", "--topic", topic, "--json").done().json == []
    refused = served.run("transactions", "abort", "--topic", topic, "--partition", 0, "--start-offset", 5)
    assert "does not hang" in refused.sentence()
    refused = served.run("transactions", "abort", "--topic", topic, "--partition", 0, "--start-offset", 7)
    assert "open ones begin at 5" in refused.sentence()


def test_abort_with_force_ends_a_transaction_in_its_partition(served: Served, topic: str) -> None:
    arguments = ("transactions", "abort", "--topic", topic, "--partition", 0, "--start-offset", 5, "--force", "--json")
    assert served.run(*arguments).done().json == {"aborted": {"topic": topic, "partition": 0, "start_offset": 5}}
    shown = served.run("consume", "--topic", topic, "--show-transactions", "--to-end", "--json").done().json_lines
    assert [line["outcome"] for line in shown if line.get("value") == "open"] == ["aborted"]
    rows = served.run("transactions", "describe-producers", "--topic", topic, "--json").done().json
    assert all(row["open_from_offset"] is None for row in rows)


def test_fence_aborts_the_open_transaction_of_a_producer(served: Served, topic: str) -> None:
    served.run("transactions", "fence", f"{topic}-2").done()
    shown = served.run("consume", "--topic", topic, "--show-transactions", "--to-end", "--json").done().json_lines
    assert [line["outcome"] for line in shown if line.get("value") == "open"] == ["aborted"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["list", "--state", "Bogus"], "--state takes Empty, Ongoing, .*, not 'Bogus'"),
        (["history", "nope"], "no history of 'nope'; see oncelog transactions list"),
        (["fence", "nope"], "transactional id 'nope' .*TRANSACTIONAL_ID_NOT_FOUND.*; see oncelog transactions list"),
        (["describe", "nope"], "transactional id 'nope' .*TRANSACTIONAL_ID_NOT_FOUND.*; see oncelog transactions list"),
    ],
)
def test_an_unknown_transactional_id_is_refused(words: list[str], sentence: str, served: Served) -> None:
    refused = served.run("transactions", *words)
    assert refused.code == 1
    assert re.search(sentence, refused.sentence())


def test_fencing_an_unknown_transactional_id_does_not_create_it(served: Served) -> None:
    assert served.run("transactions", "fence", "never-used").code == 1
    listed = served.run("transactions", "list", "--json").done().json
    assert "never-used" not in [row["transactional_id"] for row in listed]


def test_a_transaction_state_can_be_written_in_lower_case(served: Served, topic: str) -> None:
    listed = served.run("transactions", "list", "--state", "ongoing", "--json").done().json
    assert f"{topic}-2" in [row["transactional_id"] for row in listed]


def test_aborting_without_an_open_transaction_is_reported(served: Served, unique_name: str) -> None:
    served.run("topics", "create", unique_name).done()
    refused = served.run("transactions", "abort", "--topic", unique_name, "--partition", 0, "--start-offset", 5)
    assert refused.sentence().endswith("none is open there")


def test_the_coordinators_records_are_shown_decoded(served: Served, topic: str) -> None:
    shown = served.run("consume", "-t", "__transaction_state", "--from-beginning", "-e", "-J").done().json_lines
    states = [line["value"]["state"] for line in shown if line["key"] == {"transactional_id": f"{topic}-2"}]
    assert states == ["Empty", "Ongoing"]
    text = served.run("consume", "-t", "__transaction_state", "--show-transactions", "-e").done().out
    assert f'{{"transactional_id": "{topic}-2"}}' in text
    assert "\\x00" not in text


# --- two-phase commit


@pytest.fixture(scope="module")
def in_two_phases() -> Iterator[Broker]:
    with Broker(settings={"transaction.two.phase.commit.enable": True}) as broker:
        yield broker


def _prepare(servers: str, name: str) -> str:
    with OwnProducer(bootstrap_servers=servers, transactional_id=name, two_phase_commit=True) as producer:
        producer.begin_transaction()
        producer.send(name, b"prepared")
        return producer.prepare()


def test_prepared_transactions_of_a_database_are_distinguished_and_completed(
    in_two_phases: Broker, unique_name: str
) -> None:
    to_it = ("--bootstrap-server", in_two_phases.bootstrap_servers)
    call("topics", "create", unique_name, *to_it).done()
    _fill(in_two_phases.bootstrap_servers, unique_name)
    token = _prepare(in_two_phases.bootstrap_servers, unique_name)
    listed = call("transactions", "list", "--json", *to_it).done().json
    reported = {row["transactional_id"]: row["two_phase_commit"] for row in listed}
    assert reported == {f"{unique_name}-1": None, f"{unique_name}-2": False, unique_name: True}
    (only,) = call("transactions", "list", "--two-phase", "--json", *to_it).done().json
    assert only["transactional_id"] == unique_name
    (described,) = call("transactions", "describe", unique_name, "--json", *to_it).done().json
    assert (described["two_phase_commit"], described["timeout_ms"]) == (True, 2**31 - 1)

    refused = call("transactions", "fence", unique_name, *to_it)
    assert refused.code == 1
    assert "its database may have committed" in refused.err
    refused = call("transactions", "complete", unique_name, "--token", "9999:0", *to_it)
    assert refused.code == 1
    assert "nothing was ended" in refused.err
    done = call("transactions", "complete", unique_name, "--token", token, "--json", *to_it).done().json
    assert done == {"transactional_id": unique_name, "prepared": token, "outcome": "committed"}
    again = call("transactions", "complete", unique_name, "--token", token, *to_it).done().out
    assert again == f"{unique_name}: nothing was prepared\n"


@pytest.mark.parametrize("how", [("complete", "--token", ""), ("fence", "--force")])
def test_prepared_transactions_are_aborted_without_a_token_or_by_force(
    in_two_phases: Broker, unique_name: str, how: tuple[str, ...]
) -> None:
    to_it = ("--bootstrap-server", in_two_phases.bootstrap_servers)
    _prepare(in_two_phases.bootstrap_servers, unique_name)
    call("transactions", how[0], unique_name, *how[1:], *to_it).done()
    history = call("transactions", "history", unique_name, "--json", *to_it).done().json
    assert "CompleteAbort" in [row["state"] for row in history]


def test_completing_an_unused_transactional_id_does_not_create_it(in_two_phases: Broker, unique_name: str) -> None:
    to_it = ("--bootstrap-server", in_two_phases.bootstrap_servers)
    assert call("transactions", "complete", unique_name, "--token", "", *to_it).code == 1
    listed = call("transactions", "list", "--json", *to_it).done().json
    assert unique_name not in [row["transactional_id"] for row in listed]


def test_consume_names_the_transaction_that_holds_records_back(served: Served, topic: str) -> None:
    read = served.run("consume", "-t", topic, "--from-beginning", "--to-end").done()
    assert read.out.splitlines() == ["plain", "committed"]
    count, held = read.err.splitlines()
    assert count == "2 records"
    assert held.startswith(
        f"{topic}-0 holds back the offsets from 5 to 10: the transaction of '{topic}-2' has been Ongoing"
    )
    command = held.rpartition("; see oncelog ")[2]
    assert f"transactional_id: {topic}-2\n" in served.run(*command.split()).done().out
    beside = served.run(
        "consume", "-t", topic, "--from-beginning", "--to-end", "--isolation", "read_uncommitted"
    ).done()
    assert beside.err.splitlines() == ["7 records"]


def test_find_hanging_also_lists_transactions_that_are_open_for_a_long_time(
    served: Served, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oncelog.cli.shared.held_back.LONG_OPEN_S", -1)
    found = served.run("transactions", "find-hanging", "-t", topic).done()
    assert "no transaction hangs" in found.err + found.out
    (open_one,) = [line for line in found.err.splitlines() if "has been Ongoing since" in line]
    assert open_one.startswith(f"the transaction of '{topic}-2'")
