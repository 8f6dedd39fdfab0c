"""Which PySpark is taken, and what a worker says that has another version than the driver."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from oncelog.errors import ConfigError
from oncelog.spark import versions
from oncelog.spark.versions import SameInTasks, pyspark_problem, release


@pytest.mark.parametrize("version", ["3.5.0", "3.5.4+amzn.0", "4.0.0", "4.3.0.dev1", "4.10.2"])
def test_pyspark_from_3_5_up_to_5_is_taken(version: str) -> None:
    assert pyspark_problem(version) is None


@pytest.mark.parametrize("version", ["2.4.8", "3.4.4", "5.0.0", "10.1.0"])
def test_other_pyspark_is_refused_with_the_range(version: str) -> None:
    assert pyspark_problem(version) == (
        f"PySpark {version} is installed, and oncelog works with 3.5 to 4.x: pip install 'pyspark>=3.5,<5'"
    )


def test_missing_pyspark_is_told() -> None:
    assert "is not installed" in str(pyspark_problem(""))


def test_release_of_a_platforms_own_build() -> None:
    assert [release(text) for text in ("3.5.4+amzn.0", "4.10.0", "client-17")] == [(3, 5), (4, 10), (0, 0)]


@dataclass(frozen=True, slots=True)
class Slotted(SameInTasks):
    number: int
    text: str = "t"


class Plain(SameInTasks):
    def __init__(self, number: int) -> None:
        self.number = number


def test_pickled_object_comes_back_where_the_versions_are_the_same() -> None:
    assert pickle.loads(pickle.dumps(Slotted(3))) == Slotted(3)
    assert pickle.loads(pickle.dumps(Plain(4))).number == 4


@pytest.mark.parametrize(("name", "package"), [("PYSPARK", "pyspark"), ("ONCELOG", "oncelog")])
def test_worker_with_another_version_refuses_before_it_unpickles(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    ours = getattr(versions, name)
    data = pickle.dumps(Plain(4))
    monkeypatch.setattr(versions, name, "0.0.9")
    monkeypatch.setattr("pyspark.cloudpickle.loads", None)
    with pytest.raises(ConfigError, match=f"has {package} 0.0.9 and the driver {ours}: install {package} {ours} on"):
        pickle.loads(data)
