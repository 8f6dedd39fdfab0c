"""The order of ``make test``: its list names existing files, and each worker takes its own kind first."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.schedule import SECONDS, choice
from tests.scheduler import ByKind

TESTS = Path(__file__).parents[1]


def test_files_whose_time_is_listed_exist() -> None:
    assert [name for name in SECONDS if not (TESTS / name).is_file()] == []


@pytest.mark.parametrize(
    ("worker", "files", "taken"),
    [
        (0, ["client/b.py", "console/b.py", "spark/b.py", "spark/a.py"], "spark/b.py"),
        (1, ["client/b.py", "pipeline/a.py"], "pipeline/a.py"),
        (1, ["console/b.py", "client/b.py", "client/a.py"], "client/b.py"),
        (2, ["client/b.py", "spark/b.py", "console/b.py"], "console/b.py"),
        (3, ["spark/b.py", "console/b.py", "client/b.py"], "client/b.py"),
        (3, ["spark/b.py", "console/b.py"], "spark/b.py"),
    ],
)
def test_worker_takes_its_own_kind_then_what_nobody_owns_then_the_others(
    worker: int, files: list[str], taken: str
) -> None:
    assert choice([f"tests/integration/{file}" for file in files], worker) == f"tests/integration/{taken}"


def test_worker_after_a_crash_has_the_place_of_the_one_that_is_gone(
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
