"""Workers of a cluster without oncelog receive it in an archive, in the two ways of ``docs/how-to/platforms.md``."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import oncelog
from tests.compatibility.spark_versions.environments import OURS, ROOT, Environment
from tests.compatibility.spark_versions.test_spark_versions import Copy, numbers_in
from tests.conftest import RunningBroker
from tests.support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3000)]
PAGE = ROOT / "docs" / "how-to" / "platforms.md"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.cores.max": "2",
    "spark.task.maxFailures": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUICK,
}


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, timeout=1200)


def install(*packages: str, target: Path | None = None, python: Path | None = None) -> None:
    where = ["--target", str(target)] if target else []
    run(sys.executable, "-m", "pip", *(["--python", str(python)] if python else []), "install", "-q", *where, *packages)


def with_oncelog(folder: Path) -> Path:
    """A folder of installed packages, with this tree's as ``pip install oncelog`` leaves them."""
    for package in ("oncelog", "pyspark_oncelog"):
        shutil.copytree(ROOT / "src" / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def make_packages(folder: Path) -> None:
    """``packages.tar.gz``."""
    install(*OURS[:3], target=folder / "packages")
    with tarfile.open(folder / "packages.tar.gz", "w:gz", compresslevel=1) as file:
        file.add(with_oncelog(folder / "packages"), ".")


def make_other_packages(folder: Path) -> None:
    """``other.tar.gz``: the same with another version of oncelog."""
    other = shutil.copytree(folder / "packages", folder / "other")
    module = other / "oncelog" / "__init__.py"
    text, count = re.subn(r'(?m)^__version__ = ".*"$', '__version__ = "0.0.7"', module.read_text())
    assert count == 1
    module.write_text(text)
    with tarfile.open(folder / "other.tar.gz", "w:gz", compresslevel=1) as file:
        file.add(other, ".")


def make_environment(environment: Environment, folder: Path) -> None:
    """``environment.tar.gz``, and the same unpacked."""
    made = folder / "made"
    run(sys.executable, "-m", "venv", "--without-pip", made)
    libraries = [one for one in environment.requirements if one.startswith(("numpy", "pandas", "pyarrow"))]
    install("venv-pack", *libraries, *OURS[:3], python=made / "bin" / "python")
    with_oncelog(made / "lib" / f"python3.{sys.version_info[1]}" / "site-packages")
    archive = folder / "environment.tar.gz"
    run(made / "bin" / "venv-pack", "--quiet", "--compress-level", "1", "--prefix", made, "--output", archive)
    with tarfile.open(archive) as file:
        file.extractall(folder / "environment", filter="fully_trusted")


class Platform:
    """A cluster whose machines have Spark and its libraries, and not oncelog."""

    def __init__(self, environment: Environment, folder: Path, copy: Copy) -> None:
        self._python, self._home, self._folder = environment.python(), environment.home(), folder
        self.variables = {name: value for name, value in environment.variables().items() if name != "PYTHONPATH"}
        self._task = folder / "job.py"
        (program,) = re.findall(r"`job.py`:\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
        program = program.replace("127.0.0.1:9092", copy.address).replace('"numbers"', f'"{copy.sink}"')
        self._task.write_text(program)
        self.cluster = SparkCluster(
            1, java_options=QUICK, python=self._python, home=self._home, variables=self.variables
        )

    def submit(self, *arguments: str, path: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """``spark-submit ARGUMENTS job.py``.

        :param path: PYTHONPATH of the driver.
        """
        conf = [f"--conf={name}={value}" for name, value in SETTINGS.items()]
        command = [str(self._home / "bin" / "spark-submit"), "--master", self.cluster.master, *conf, *arguments]
        return subprocess.run(
            [*command, str(self._task)],
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
            cwd=self._folder,
            env=self.variables | {"SPARK_HOME": str(self._home), "PYTHONPATH": path} | variables,
        )

    def printed(self, *arguments: str, path: str, **variables: str) -> object:
        """What the last line that it prints says."""
        done = self.submit(*arguments, path=path, **variables)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.case("workers without oncelog receive it in an archive")
def test_workers_receive_oncelog_in_an_archive(
    environment: Environment, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    copy = Copy(oncelog_broker, unique_name, tmp_path)
    platform = Platform(environment, tmp_path, copy)
    make_packages(tmp_path)
    with platform.cluster as cluster:
        refused = platform.submit(path="packages")
        assert refused.returncode != 0
        assert "No module named 'oncelog'" in refused.stderr
        by_packages = ("--archives=packages.tar.gz#packages", "--conf=spark.executorEnv.PYTHONPATH=packages")
        make_other_packages(tmp_path)
        other = platform.submit("--archives=other.tar.gz#packages", by_packages[1], path="packages")
        assert other.returncode != 0
        assert f"has oncelog 0.0.7 and the driver {oncelog.__version__}: install oncelog" in other.stderr
        assert numbers_in(copy.address, copy.sink) == []
        assert platform.printed(*by_packages, path="packages") == [cluster.master, "executors", 1000]
        make_environment(environment, tmp_path)
        python = {"PYSPARK_PYTHON": "environment/bin/python", "PYSPARK_DRIVER_PYTHON": "environment/bin/python"}
        found = platform.printed("--archives=environment.tar.gz#environment", path="", **python)
        assert found == [cluster.master, "executors", 1000]
    assert numbers_in(copy.address, copy.sink) == sorted([*range(1000)] * 2)
