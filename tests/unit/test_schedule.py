"""The order of ``make test``: its list names existing files, and each worker takes its own kind first."""

from __future__ import annotations

import re
from collections import OrderedDict
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.areas import AreaTime, area_of, times
from tests.schedule import CEILINGS, SECONDS, SESSIONS, choice
from tests.scheduler import ByKind

TESTS = Path(__file__).parents[1]


def test_make_test_names_files_and_tests_that_exist() -> None:
    for line in (TESTS / "make-test.txt").read_text(encoding="utf-8").splitlines():
        path, _, test = line.partition("::")
        assert (TESTS.parent / path).exists(), line
        if test:
            above, found, _ = (TESTS.parent / path).read_text(encoding="utf-8").partition(f"\ndef {test}(")
            assert found, line
            assert "@pytest.mark.soak\n" not in above.rpartition("\n\n\n")[2], f"{line} is a long form"


def test_files_whose_time_is_listed_exist() -> None:
    assert [name for name in SECONDS if not (TESTS / name).is_file()] == []


@pytest.mark.parametrize(
    ("worker", "files", "taken"),
    [
        (0, ["client/b.py", "console/b.py", "pipeline/b.py", "spark/b.py", "spark/a.py"], "spark/b.py"),
        (0, ["client/b.py", "pipeline/b.py"], "pipeline/b.py"),
        (1, ["client/b.py", "spark/a.py", "pipeline/a.py"], "pipeline/a.py"),
        (1, ["console/b.py", "client/b.py", "client/a.py"], "client/b.py"),
        (2, ["client/b.py", "spark/b.py", "console/b.py"], "console/b.py"),
        (3, ["client/b.py", "conformance/b.py"], "conformance/b.py"),
        (3, ["spark/b.py", "console/b.py", "client/b.py"], "client/b.py"),
        (3, ["spark/b.py", "console/b.py"], "spark/b.py"),
        (4, ["conformance/b.py", "client/b.py", "client/a.py"], "client/b.py"),
    ],
)
def test_a_test_worker_takes_files_of_its_own_kind_then_unowned_files_then_others(
    worker: int, files: list[str], taken: str
) -> None:
    assert choice([f"tests/integration/{file}" for file in files], worker) == f"tests/integration/{taken}"


def test_files_that_use_the_shared_session_run_on_the_worker_that_has_it() -> None:
    files = [path for path in sorted(TESTS.rglob("test_*.py")) if "unit" not in path.relative_to(TESTS).parts]
    taking = [path for path in files if re.search(r"\bspark: SparkSession\b", path.read_text(encoding="utf-8"))]
    assert taking
    names = [path.relative_to(TESTS).as_posix() for path in taking]
    assert [name for name in names if not name.startswith((*SESSIONS, "integration/pipeline/"))] == []


def test_a_worker_after_a_crash_takes_the_place_of_the_crashed_worker(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the one with the browser would begin with Spark's files too."""
    files = [
        f"tests/integration/{name}::test"
        for name in ("spark/a.py", "spark/b.py", "spark/c.py", "console/a.py", "client/a.py")
    ]
    first, second, browser, new = workers = [Mock() for _ in range(4)]
    monkeypatch.setattr("xdist.scheduler.loadscope.parse_tx_spec_config", lambda _: workers)
    scheduling = ByKind(pytestconfig)
    for worker in workers[:3]:
        scheduling.add_node(worker)
    scheduling.workqueue = OrderedDict((file.partition("::")[0], {file: False}) for file in files)
    scheduling.remove_node(first)
    scheduling.add_node(new)
    taken = [choice(scheduling.workqueue, scheduling._places[worker]) for worker in (new, second, browser)]
    assert taken == ["tests/integration/spark/a.py", "tests/integration/spark/a.py", "tests/integration/console/a.py"]


def test_the_page_lists_the_ceilings_of_areas_that_exist() -> None:
    page = (TESTS.parent / "docs" / "contributing" / "checks.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w/]+)` \| \d+ \| (\d+) \|", page, re.MULTILINE)
    assert {area: int(ceiling) for area, ceiling in listed} == CEILINGS
    assert [area for area in CEILINGS if not (TESTS / area).is_dir()] == []


def test_an_area_above_its_ceiling_is_marked() -> None:
    reports = [Mock(nodeid=f"tests/{path}::test", duration=seconds) for path, seconds in (
        ("integration/lab/test_a.py", 3.0), ("docs/test_a.py", 80.0), ("docs/b/test_b.py", 20.0))]  # fmt: skip
    assert times(iter(reports)) == [AreaTime("docs", 100.0, 70), AreaTime("integration/lab", 3.0, None)]
    assert [entry.line for entry in times(iter(reports))] == [
        "| `docs` | 100 | 70 OVER |",
        "| `integration/lab` | 3 |  |",
    ]


@pytest.mark.parametrize(
    ("node", "area"), [("tests/unit/a/test_b.py::c", "unit"), ("tests/integration/x/y/t.py::c", "integration/x")]
)
def test_the_area_of_a_test_is_its_folder(node: str, area: str) -> None:
    assert area_of(node) == area
