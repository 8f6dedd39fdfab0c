"""Python environments with each supported PySpark, and with low and usual libraries; kept on this machine.

``oncelog`` itself is not in them: programs find the tree that is tested by ``PYTHONPATH``.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from oncelog.spark.maven import Module, jars
from tests.support.python_environments import python_with

ROOT = Path(__file__).parents[3]
OURS = ("click>=8.1", "crc32c>=2.7", "cramjam>=2.9", "rich>=13.7", "psutil>=6", "setuptools<80")
"""What oncelog and the programs of these tests need; setuptools has distutils, which PySpark 3.5 asks for."""


@dataclass(frozen=True)
class Environment:
    """One PySpark with its libraries.

    :param like: why these libraries, for the table.
    :param connector: Spark's own Kafka connector, where streams are read with it.
    """

    name: str
    pyspark: str
    numpy: str
    pandas: str
    pyarrow: str
    like: str
    connect: tuple[str, ...] = ()
    connector: tuple[Module, ...] = ()

    @property
    def release(self) -> tuple[int, int]:
        major, minor = self.pyspark.split(".")[:2]
        return int(major), int(minor)

    @property
    def requirements(self) -> tuple[str, ...]:
        libraries = (f"numpy=={self.numpy}", f"pandas=={self.pandas}", f"pyarrow=={self.pyarrow}")
        return (f"pyspark=={self.pyspark}", *libraries, *self.connect, *OURS)

    def python(self) -> str:
        """Its interpreter; the environment is made if it is not there."""
        return python_with(self.requirements, cache(), self.name, self._unpack)

    def _unpack(self, folder: Path) -> None:
        packed = self._home(folder) / "python" / "lib" / "pyspark.zip"
        packed.unlink()  # else each worker compiles it again
        packed.mkdir()
        (packed / "pyspark").symlink_to(self._home(folder))

    def home(self) -> Path:
        """Spark's own folder."""
        return self._home(Path(self.python()).parents[1])

    @staticmethod
    def _home(folder: Path) -> Path:
        return folder / "lib" / f"python3.{sys.version_info[1]}" / "site-packages" / "pyspark"

    def variables(self) -> dict[str, str]:
        """What a program that runs in it finds in its environment."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        return kept | {"PYTHONPATH": path, "PYSPARK_PYTHON": self.python()}

    def jars(self) -> str:
        """Paths of Spark's own connector, for ``spark.jars``; empty text for releases with data sources."""
        if not self.connector:
            return ""
        folder = jars(f"spark-connector-{self.pyspark}", self.connector, transitive=False)
        return ",".join(str(jar) for jar in sorted(folder.glob("*.jar")))


def cache() -> Path:
    """The folder of the environments: ``ONCELOG_SPARK_VERSIONS_CACHE``, or in the user's cache."""
    given = os.environ.get("ONCELOG_SPARK_VERSIONS_CACHE")
    return Path(given).expanduser() if given else Path.home() / ".cache" / "oncelog" / "spark-versions"


_CONNECTOR_35 = (  # the newest that Maven Central has of each 3.5
    ("org.apache.spark", "spark-sql-kafka-0-10_2.12", "3.5.7"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.12", "3.5.7"),
    ("org.apache.kafka", "kafka-clients", "3.4.1"),
    ("org.apache.commons", "commons-pool2", "2.11.1"),
)
_CONNECT_40 = ("grpcio==1.67.0", "grpcio-status==1.67.0", "googleapis-common-protos==1.65.0")
_CONNECT = ("grpcio>=1.76", "grpcio-status>=1.76", "googleapis-common-protos>=1.71", "zstandard>=0.25", "pyyaml>=6")

ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment(
            "3.5-lowest", "3.5.9", "1.23.5", "1.5.3", "11.0.0", "the lowest that oncelog takes", connector=_CONNECTOR_35
        ),
        Environment("3.5", "3.5.9", "1.26.4", "2.2.3", "17.0.0", "the last numpy 1", connector=_CONNECTOR_35),
        Environment("4.0-lowest", "4.0.5", "1.23.5", "2.0.3", "11.0.0", "PySpark's own lower bounds", _CONNECT_40),
        Environment("4.0", "4.0.5", "2.1.3", "2.2.3", "19.0.1", "numpy 2", _CONNECT_40),
        Environment("4.1-lowest", "4.1.4", "1.26.4", "2.2.0", "15.0.0", "PySpark's own lower bounds", _CONNECT),
        Environment("4.1", "4.1.4", "2.3.5", "2.3.3", "22.0.0", "", _CONNECT),
        Environment("4.2-lowest", "4.2.1", "1.26.4", "2.2.0", "18.0.0", "PySpark's own lower bounds", _CONNECT),
        Environment("4.2", "4.2.1", "2.3.5", "2.3.3", "22.0.0", "", _CONNECT),
        Environment("4.3-lowest", "4.3.0", "1.26.4", "2.2.0", "18.0.0", "PySpark's own lower bounds", _CONNECT),
        Environment("4.3", "4.3.0", "2.3.5", "2.3.3", "22.0.0", "", _CONNECT),
    )
}
SHORT = "3.5"
"""The one that ``make test`` uses, beside the PySpark of all other tests: it has no data sources, so lacks most."""
