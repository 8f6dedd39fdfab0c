"""Which PySpark is taken, and what a worker says that has another version than the driver."""

from __future__ import annotations

import pickle
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from oncelog.errors import ConfigError
from oncelog.spark import versions
from oncelog.spark.versions import VersionChecked, pyspark_problem, release
from tests.compatibility.spark_versions.environments import ENVIRONMENTS

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("version", ["3.5.0", "3.5.4+amzn.0", "4.0.0", "4.3.0.dev1", "4.10.2"])
def test_a_pyspark_from_3_5_to_below_5_is_accepted(version: str) -> None:
    assert pyspark_problem(version) is None


@pytest.mark.parametrize("version", ["2.4.8", "3.4.4", "5.0.0", "10.1.0"])
def test_any_other_pyspark_is_refused_with_the_supported_range(version: str) -> None:
    assert pyspark_problem(version) == (
        f"PySpark {version} is installed, and oncelog works with 3.5 to 4.x: pip install 'pyspark>=3.5,<5'"
    )


def test_a_missing_pyspark_is_reported() -> None:
    assert "is not installed" in str(pyspark_problem(""))


def test_the_release_of_a_platforms_own_build_is_read() -> None:
    assert [release(text) for text in ("3.5.4+amzn.0", "4.10.0", "client-17")] == [(3, 5), (4, 10), (0, 0)]


@pytest.mark.parametrize(
    ("pandas", "problem"),
    [("1.5.3", None), ("2.2", None), ("1.5.2", "pip install 'pandas>=1.5.3', on every worker too")],
)
def test_libraries_below_the_lowest_supported_version_are_reported(pandas: str, problem: str | None) -> None:
    assert versions.libraries_problem({"numpy": "1.23.2", "pandas": pandas, "pyarrow": "11.0.0"}) == problem


def test_the_lowest_supported_libraries_are_those_of_the_extra_and_of_a_tested_environment() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["spark"]
    asked = {(one := Requirement(text)).name: one.specifier for text in extra}
    for name, least in versions.MIN_LIBRARIES.items():
        assert f">={least}" in [str(part) for part in asked[name]]
        assert Version(getattr(ENVIRONMENTS["3.5-lowest"], name)).release[:2] == Version(f"{least}.0").release[:2]


@dataclass(frozen=True, slots=True)
class Slotted(VersionChecked):
    number: int
    text: str = "t"


class Plain(VersionChecked):
    def __init__(self, number: int) -> None:
        self.number = number


def test_an_object_is_unpickled_if_the_versions_are_equal() -> None:
    assert pickle.loads(pickle.dumps(Slotted(3))) == Slotted(3)
    assert pickle.loads(pickle.dumps(Plain(4))).number == 4


@pytest.mark.parametrize(("name", "package"), [("PYSPARK", "pyspark"), ("ONCELOG", "oncelog")])
def test_a_worker_with_another_version_refuses_the_object_before_it_unpickles_it(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    ours = getattr(versions, name)
    data = pickle.dumps(Plain(4))
    monkeypatch.setattr(versions, name, "0.0.9")
    monkeypatch.setattr("pyspark.cloudpickle.loads", None)
    with pytest.raises(ConfigError, match=f"has {package} 0.0.9 and the driver {ours}: install {package} {ours} on"):
        pickle.loads(data)
