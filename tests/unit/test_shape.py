"""Functions and classes stay small enough to be read in one go; what is larger says why, here.

Files have no limit of their own: where a concept ends is a better place to part them than line 500.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import NamedTuple

from oncelog.broker.core.requests.context import RequestContext

ROOT = Path(__file__).parents[2]
FOLDERS = ("src/oncelog", "tools", "tests", "benchmarks")
MAX_COMPLEXITY = 10
"""McCabe's: the paths through a function that are independent of each other (ruff's C901)."""
MAX_LINES = 70
MAX_METHODS = 40

LONG_FUNCTIONS = {
    "oncelog/aiokafka/consumer.py:__init__": "aiokafka's keywords, one a line",
    "oncelog/cli/programs/serve.py:command": "one parameter an option, then one call",
    "tests/compatibility/interop/admin/test_same_answers.py:_found": "a table of requests",
}

LARGE_CLASSES = {
    "oncelog/client/aio/consumer/consumer.py:Consumer": "the public interface: each method a short delegation",
    "oncelog/client/blocking/admin.py:Admin": "the public interface: each method a short delegation",
    "oncelog/client/blocking/consumer.py:Consumer": "the public interface: each method a short delegation",
    "oncelog/client/blocking/producer.py:Producer": "the public interface: each method a short delegation",
    "oncelog/client/core/transactions/transaction_manager.py:TransactionManager": (
        "one state machine, an entry for each event"
    ),
    "oncelog/broker/log/segments/segment.py:Segment": "appends, lookups and cuts work on the same few places in memory",
    "oncelog/broker/core/coordination/coordinators.py:Coordinators": "the ports of three coordinators, a method each",
    "oncelog/broker/metadata/store.py:MetadataStore": "every table with its few statements",
}

IN_KAFKAS_ORDER = "checks in Apache Kafka's order, which decides the error that is answered"
HOT = "on the way of every request or record: a call for each branch would be measured"
EACH_FIELD = "a branch for each field or kind, each of one or two lines"
ONE_LOOP = "one loop whose branches share what it has gathered"
START_ORDER = "the order in which a server starts, with what is undone if a step fails"
ONE_SCRIPT = "threads or steps of one scenario, read from top to bottom"

COMPLEX_FUNCTIONS = {
    "benchmarks/__main__.py:main": EACH_FIELD,
    "oncelog/aiokafka/consumer.py:_check_offsets": EACH_FIELD,
    "oncelog/broker/core/apis/transactions/add_partitions_to_txn.py:_add": IN_KAFKAS_ORDER,
    "oncelog/broker/core/apis/share/alter_share_group_offsets.py:handle": IN_KAFKAS_ORDER,
    "oncelog/broker/coordinator/group/group_coordinator.py:join_group": IN_KAFKAS_ORDER,
    "oncelog/broker/coordinator/group/offset_requests.py:fetch": IN_KAFKAS_ORDER,
    "oncelog/broker/core/apis/topics/delete_topics.py:_delete_all": IN_KAFKAS_ORDER,
    "oncelog/broker/core/apis/configs/describe_configs.py:_entries": EACH_FIELD,
    "oncelog/broker/core/apis/topics/describe_topic_partitions.py:_describe": IN_KAFKAS_ORDER,
    "oncelog/broker/core/apis/data/fetch.py:_open": IN_KAFKAS_ORDER,
    "oncelog/broker/core/apis/data/fetch.py:handle": HOT,
    "oncelog/broker/core/apis/data/fetch_reading.py:read_partition": IN_KAFKAS_ORDER,
    "oncelog/broker/core/apis/data/list_offsets.py:_look_up_each": IN_KAFKAS_ORDER,
    "oncelog/broker/core/apis/groups/offset_fetch.py:_fetch": IN_KAFKAS_ORDER,
    "oncelog/broker/core/appending/pipeline.py:_locate": IN_KAFKAS_ORDER,
    "oncelog/broker/core/apis/groups/offset_commit.py:handle": IN_KAFKAS_ORDER,
    "oncelog/broker/core/apis/transactions/txn_offset_commit.py:handle": IN_KAFKAS_ORDER,
    "oncelog/broker/core/broker.py:handle": HOT,
    "oncelog/broker/core/storage/cleaner.py:_start": ONE_LOOP,
    "oncelog/broker/core/appending/produce_runs.py:_begin_transaction": HOT,
    "oncelog/cli/records/stored_records.py:_outcomes": ONE_LOOP,
    "oncelog/client/aio/producer/record_appender.py:_put_anywhere": HOT,
    "oncelog/client/aio/consumer/start_positions.py:_find": ONE_LOOP,
    "oncelog/client/blocking/producer.py:_pump": HOT,
    "oncelog/client/blocking/producer.py:send": HOT,
    "oncelog/client/core/consumer/fetcher.py:poll": ONE_LOOP,
    "oncelog/client/core/producer/sender.py:_settle": EACH_FIELD,
    "oncelog/apps/conformance/raw/bodies.py:fetch_body": EACH_FIELD,
    "oncelog/broker/coordinator/group/consumer/consumer_rules.py:invalid_heartbeat": IN_KAFKAS_ORDER,
    "oncelog/apps/proxy/proxy.py:_request": ONE_LOOP,
    "oncelog/broker/faults/rules.py:_can_match": EACH_FIELD,
    "oncelog/apps/mirror/cut.py:choose_cut": ONE_LOOP,
    "oncelog/apps/promote/kraft.py:metadata_records": EACH_FIELD,
    "oncelog/apps/promote/listeners.py:_check": EACH_FIELD,
    "oncelog/records/validation.py:validate_append": IN_KAFKAS_ORDER,
    "oncelog/broker/server/opening.py:_start": START_ORDER,
    "oncelog/broker/server/opening.py:open_server": START_ORDER,
    "oncelog/broker/server/connections/connection.py:_start": HOT,
    "oncelog/broker/server/connections/sending.py:write": HOT,
    "oncelog/broker/server/server.py:_end_iteration": HOT,
    "oncelog/schemas/arrow/resolution.py:of": EACH_FIELD,
    "oncelog/schemas/arrow/resolution.py:_plain": EACH_FIELD,
    "oncelog/schemas/avro/values.py:_new": EACH_FIELD,
    "oncelog/spark/java_regex.py:_escape": EACH_FIELD,
    "oncelog/spark/kafka/lanes.py:send_in_lanes": ONE_LOOP,
    "oncelog/spark/sink/marker.py:_why_unknown": EACH_FIELD,
    "tests/hostile/test_large_batches.py:test_large_and_small_batches_go_to_the_same_partitions": ONE_SCRIPT,
    "tests/compatibility/interop/admin/test_same_answers.py:_found": EACH_FIELD,
    "tests/compatibility/interop/any_request/values.py:likely": EACH_FIELD,
    "tests/property/client/test_producer_sequences.py:test_every_record_is_stored_once_whatever_the_leader_answers": (
        ONE_SCRIPT
    ),
    "tests/support/random_avro.py:_plain": EACH_FIELD,
    "tests/support/random_avro.py:written": EACH_FIELD,
    "tests/unit/broker/coordinator/group/consumer/test_consumer_protocol.py:"
    "test_no_partition_ever_has_two_owners_and_in_the_end_all_partitions_are_assigned": ONE_SCRIPT,
    "tests/unit/broker/coordinator/group/test_group_crash.py:test_a_loaded_group_equals_the_stored_group": ONE_SCRIPT,
    "tests/unit/broker/server/disk/test_os_disk.py:"
    "test_threads_that_share_few_descriptors_never_read_another_file": ONE_SCRIPT,
    "tests/unit/spark/kafka/test_lanes.py:test_a_failure_is_raised_after_all_requests_have_ended": ONE_SCRIPT,
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix().removeprefix("src/")


class Definition(NamedTuple):
    place: str
    is_class: bool
    lines: int
    methods: int
    is_public: bool
    is_at_the_top: bool


@cache
def definitions() -> tuple[Definition, ...]:
    """Of all files; the trees they come from are not kept, for a million nodes cost more than the search in them."""
    return tuple(
        definition
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "generated" not in path.parts
        for definition in _definitions(path)
    )


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Those inside of others too, without their expressions, which are nine of ten nodes."""
    for statement in body:
        yield statement
        for field in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, field, []))
        for branch in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            yield from _statements(branch.body)


def _definitions(path: Path) -> Iterator[Definition]:
    module = ast.parse(path.read_text())
    top = set(module.body)
    for node in _statements(module.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield Definition(
                f"{name_of(path)}:{node.name}",
                isinstance(node, ast.ClassDef),
                (node.end_lineno or node.lineno) - node.lineno + 1,
                sum(isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef) for it in node.body),
                not node.name.startswith("_"),
                node in top,
            )


def test_functions_are_short() -> None:
    long = {
        it.place: it.lines
        for it in definitions()
        if not it.is_class and it.lines > MAX_LINES and it.place not in LONG_FUNCTIONS
    }
    assert long == {}, f"more than {MAX_LINES} lines: split them, or add them to LONG_FUNCTIONS with a reason"


def test_classes_have_few_methods() -> None:
    large = {
        it.place: it.methods
        for it in definitions()
        if it.is_class and it.methods > MAX_METHODS and it.place not in LARGE_CLASSES
    }
    assert large == {}, f"more than {MAX_METHODS} methods: split them, or add them to LARGE_CLASSES with a reason"


def complex_functions(*places: str) -> list[str]:
    """Functions that ruff finds more complex than :data:`MAX_COMPLEXITY`."""
    ruff = Path(sys.executable).with_name("ruff")
    words = ["check", "--select", "C901", "--config", f"lint.mccabe.max-complexity={MAX_COMPLEXITY}"]
    ended = subprocess.run(
        [ruff, *words, "--output-format", "json", *places], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode in (0, 1), ended.stderr
    found = json.loads(ended.stdout)
    return [f"{name_of(Path(it['filename']))}:{it['message'].split('`')[1]}" for it in found]


def test_functions_are_simple() -> None:
    over = sorted(set(complex_functions(*FOLDERS)) - set(COMPLEX_FUNCTIONS))
    assert over == [], f"complexity over {MAX_COMPLEXITY}: split them, or add them to COMPLEX_FUNCTIONS with a reason"


def test_a_complex_function_is_reported(tmp_path: Path) -> None:
    module = ROOT / "build" / f"{tmp_path.name}.py"
    module.parent.mkdir(exist_ok=True)
    branches = "".join(f"    if x == {number}:\n        return {number}\n" for number in range(MAX_COMPLEXITY))
    module.write_text(f"def many(x):\n{branches}    return x\n")
    try:
        assert complex_functions(str(module)) == [f"build/{module.name}:many"]
    finally:
        module.unlink()


MAX_MODULES = 18
"""In a folder: as many as a listing explains at a glance."""
MAX_FILES_OF_A_NAME = 3
ASYNCIO_AND_BLOCKING = "the same thing for asyncio and for threads, as users import it"
NAMES_OF_AIOKAFKA = "aiokafka's name for it beside Kafka's"
CLASSES_OF_A_NAME = {
    "Admin": ASYNCIO_AND_BLOCKING,
    "Consumer": ASYNCIO_AND_BLOCKING,
    "Producer": ASYNCIO_AND_BLOCKING,
    "Transaction": ASYNCIO_AND_BLOCKING,
    "BatchBuilder": NAMES_OF_AIOKAFKA,
    "ConfigResource": NAMES_OF_AIOKAFKA,
    "ConfigResourceType": NAMES_OF_AIOKAFKA,
    "NewTopic": NAMES_OF_AIOKAFKA,
    "RecordsToDelete": NAMES_OF_AIOKAFKA,
    "Broker": "the core, its embedded server, and that with faults, which users import as oncelog.Broker",
    "Clock": "the port, and the broker's clock as the pytest plugin gives it to tests",
}
"""Names that public classes of several modules have, and why."""


def modules() -> list[Path]:
    """Those of the package, without what is generated."""
    package = ROOT / "src" / "oncelog"
    found = (path for suffix in ("py", "pyx") for path in package.rglob(f"*.{suffix}"))
    return sorted(path for path in found if "generated" not in path.parts)


def too_full(paths: Iterable[Path]) -> dict[str, int]:
    """Folders with too many modules."""
    sizes = Counter(path.parent.as_posix() for path in paths if path.name != "__init__.py")
    return {folder: size for folder, size in sizes.items() if size > MAX_MODULES}


def test_folders_have_a_limited_number_of_modules() -> None:
    assert too_full(modules()) == {}


def test_a_folder_with_too_many_modules_is_reported() -> None:
    paths = [Path("a") / f"m{number}.py" for number in range(MAX_MODULES)]
    assert too_full([*paths, Path("a/__init__.py"), Path("a/b/m.py")]) == {}
    assert too_full([*paths, Path("a/one_more.py")]) == {"a": MAX_MODULES + 1}


def test_few_modules_share_a_file_name() -> None:
    counted = Counter(path.name for path in modules() if path.name not in ("__init__.py", "__main__.py"))
    assert {name: count for name, count in counted.items() if count > MAX_FILES_OF_A_NAME} == {}


def test_public_classes_have_names_of_their_own() -> None:
    places: dict[str, list[str]] = {}
    for it in definitions():
        path, _, name = it.place.partition(":")
        if it.is_class and it.is_public and it.is_at_the_top and path.startswith("oncelog/"):
            places.setdefault(name, []).append(path)
    repeated = {name: found for name, found in places.items() if len(found) > 1}
    new = {name: found for name, found in repeated.items() if name not in CLASSES_OF_A_NAME}
    assert new == {}, "two public classes of one name: rename one, or add it to CLASSES_OF_A_NAME with a reason"
    assert CLASSES_OF_A_NAME.keys() <= repeated.keys(), "remove the names that only one class has"


def test_a_request_context_has_at_most_ten_fields() -> None:
    """It had 19, written by 13 modules; state of one module lies in that module, keyed by the context if need be."""
    assert len(fields(RequestContext)) <= 10
