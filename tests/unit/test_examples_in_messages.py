"""Each example in a message is followed: what was refused is taken then.

A message with ``for example`` or ``such as`` that nobody follows here fails the last test.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import oncelog
from oncelog.apps.console.search import RecordFilter
from oncelog.broker.faults.rules import _error, api_of
from oncelog.cli.doctor.pipeline_tables import _tables
from oncelog.client.positions import parse_time
from oncelog.errors import ConfigError
from oncelog.schemas.arrow.value_writing import _avro_type
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.structs import Schema
from oncelog.spark.options import parse_sink_options, parse_source_options
from oncelog.testing.simulation.run import SimulationSettings

SOURCES = Path(oncelog.__file__).parent
FOLLOWED_ELSEWHERE = {
    "spark/sink/rows.py": "tests/integration/spark/sink/test_headers.py",
    "spark/pipeline/rows.py": "tests/integration/spark/pipeline/test_pipeline_rows.py",
    "spark/sql/table_options.py": "tests/integration/spark/test_sql.py",
    "apps/export/typed.py": "tests/integration/schema_registry/test_export_typed.py",
    "apps/verify/kinds.py": "no advice: a cause",
    "embedded.py": "no message: a docstring",
    "spark/tables/keys.py": "tests/integration/tables/test_names_and_rights.py",
}


def refused(attempt: Callable[[], object], error: type[Exception] = ConfigError) -> str:
    with pytest.raises(error) as found:
        attempt()
    return str(found.value)


def example(message: str, pattern: str = r"(?:such as|for example) (.+?)(?:, not |; |$)") -> str:
    found = re.search(pattern, message)
    assert found, message
    return found[1]


def test_the_example_of_a_table_option_works(tmp_path: Path) -> None:
    pair = example(refused(lambda: _tables(None, (), ("delta",))))
    (options,) = _tables(None, (), (pair, f"table={tmp_path}"))
    assert options.format.value == "delta"


def test_the_example_of_client_arguments_works() -> None:
    call = example(refused(lambda: oncelog.Admin("localhost:9092"), TypeError))  # type: ignore[arg-type]
    assert call == "Admin(bootstrap_servers=...)"
    oncelog.Admin(bootstrap_servers="localhost:9092")


@pytest.mark.parametrize("number", range(3))
def test_the_example_of_a_time_works(number: int) -> None:
    message = refused(lambda: parse_time("--since", "yesterday"))
    iso, ago = re.findall(r"such as (\S+) \(UTC\), ms since 1970, or (\S+) for", message)[0]
    assert parse_time("--since", (iso, "1769860800000", ago)[number]) > 0


def test_the_examples_of_a_search_work() -> None:
    path = example(refused(lambda: RecordFilter.parse("", "", "", "7")))
    assert RecordFilter.parse("", "", path, "7")
    hexed = example(refused(lambda: RecordFilter.parse("0xabc", "", "", "")))
    assert RecordFilter.parse(hexed, "", "", "").key == b"\x00\xff"


def test_the_examples_of_a_fault_work() -> None:
    name = example(refused(lambda: api_of(7), Exception))  # type: ignore[arg-type]
    assert api_of(json.loads(name)) is not None
    assert _error(example(refused(lambda: _error("NONE"), Exception))).value > 0


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "string", "logicalType": "uuid"},
        {"type": "int", "logicalType": "date"},
        *({"type": "long", "logicalType": f"{kind}-{unit}"} for kind in ("timestamp", "local-timestamp") for unit in
          ("millis", "micros")),
        {"type": "int", "logicalType": "time-millis"},
        {"type": "long", "logicalType": "time-micros"},
    ],
    ids=lambda kind: str(kind["logicalType"]),
)  # fmt: skip
def test_the_examples_of_logical_types_work(kind: dict[str, str]) -> None:
    record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}
    codec = AvroCodec(Schema(json.dumps(record)), {})
    text = example(refused(lambda: codec.encode(codec.from_json({"a": "x"})), SchemaError))
    assert codec.encode(codec.from_json({"a": text}))


def test_the_examples_of_broker_settings_work() -> None:
    given = json.loads(example(refused(lambda: oncelog.Broker(settings=["a"]))))  # type: ignore[arg-type]
    oncelog.Broker(settings=given)
    address = example(refused(lambda: oncelog.Broker(listen=7)), r"such as '(.+?)'")  # type: ignore[arg-type]
    oncelog.Broker(listen=address)


@pytest.mark.parametrize("option", ["assign", "startingOffsets", "startingOffsetsByTimestamp"])
def test_the_examples_of_json_options_work(option: str) -> None:
    at = {"kafka.bootstrap.servers": "h:1"} | ({} if option == "assign" else {"subscribe": "topic"})
    text = example(refused(lambda: parse_source_options({**at, option: "{"}, streaming=True)))
    parse_source_options({**at, option: text}, streaming=True)


def test_the_example_of_topic_partitions_works() -> None:
    at = {"kafka.bootstrap.servers": "h:1", "topic": "t"}
    text = example(refused(lambda: parse_sink_options({**at, "createTopics": "3"}, streaming=False)))
    assert parse_sink_options({**at, "createTopics": text}, streaming=False).create_topics is not None


def test_the_examples_of_durations_work() -> None:
    at = {"kafka.bootstrap.servers": "h:1", "subscribe": "topic"}
    message = refused(lambda: parse_source_options({**at, "maxTriggerDelay": "soon"}, streaming=True))
    for text in re.findall(r"such as (\S+) or (\S+)", message)[0]:
        parse_source_options({**at, "maxTriggerDelay": text}, streaming=True)


def test_the_examples_of_simulation_faults_work() -> None:
    message = refused(lambda: SimulationSettings(faults="kill_broker"), Exception)
    SimulationSettings(faults=ast.literal_eval(example(message)))


def test_the_example_of_a_column_without_an_avro_type_works() -> None:
    kind = pa.duration("s")
    assert refused(lambda: _avro_type(kind, "a", "a"), SchemaError).endswith("cast it")
    assert _avro_type(pa.array([1], kind).cast(pa.int64()).type, "a", "a") == "long"


def _messages() -> dict[str, list[str]]:
    """Texts with an example, by file; without docstrings and the help of commands."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text())
        left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        helps = [node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "help"]
        left_out |= {id(inner) for node in helps for inner in ast.walk(node)}
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out
            if re.search("for example|such as", node.value)
        ]
        if texts:
            found[path.relative_to(SOURCES).as_posix()] = texts
    return found


def test_no_example_is_left_out() -> None:
    here = {
        "cli/doctor/pipeline_tables.py": 1,
        "client/aio/aiokafka_keywords.py": 1,
        "client/positions.py": 1,
        "apps/console/search.py": 2,
        "broker/faults/rules.py": 2,
        "schemas/avro_json.py": 2,
        "broker/server/embedded.py": 2,
        "spark/options.py": 4,
        "testing/simulation/run.py": 1,
    }
    found = {file: len(texts) for file, texts in _messages().items() if file not in FOLLOWED_ELSEWHERE}
    assert found == here
