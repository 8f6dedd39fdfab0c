"""Delta-Spark and Iceberg's Spark runtime, each as its project publishes it, in a session of a process of its own.

Tests let them make tables that exist already, and read what our sinks have written. Their jars are downloaded once.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from oncelog.spark.maven import Module, jars
from tests.compatibility.spark_versions.environments import ENVIRONMENTS, ROOT
from tests.support.children import ends_with_us

ENVIRONMENT = ENVIRONMENTS["4.1"]
DELTA = "4.4.0"
ICEBERG = "1.12.0"
_MODULES: tuple[Module, ...] = (
    ("io.delta", "delta-spark_4.1_2.13", DELTA),
    ("io.delta", "delta-storage", DELTA),
    ("io.delta", "delta-kernel-api", DELTA),
    ("io.delta", "delta-kernel-defaults", DELTA),
    ("io.delta", "delta-kernel-unitycatalog", DELTA),
    ("io.unitycatalog", "unitycatalog-client", "0.6.0"),
    ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", ICEBERG),
    ("org.xerial", "sqlite-jdbc", "3.50.3.0"),
)
JOB = "tests.support.lake_engines_job"


class EngineError(Exception):
    """What Spark says to a statement that it refuses; the first line."""


class LakeEngine:
    """A session with both; its Iceberg catalog ``ice`` is a database of SQLite, which pyiceberg shares.

    :param folder: of the catalog and its tables.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        paths = sorted(jars("lake-engines", _MODULES, transitive=False).glob("*.jar"))
        arguments = {"jars": ",".join(map(str, paths)), "folder": str(folder)}
        self._log = folder / "engine.log"
        with self._log.open("wb") as errors:
            self._process = subprocess.Popen(
                [ENVIRONMENT.python(), "-m", JOB, json.dumps(arguments)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=ENVIRONMENT.variables(),
                start_new_session=True,
            )
        ends_with_us(self._process.pid)

    @property
    def catalog(self) -> dict[str, str]:
        """pyiceberg's properties of the same catalog."""
        return {
            "name": "ice",
            "type": "sql",
            "uri": f"sqlite:///{self.folder}/catalog.db",
            "warehouse": f"file://{self.folder}/warehouse",
        }

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last statement, as texts of Python's values. Raises EngineError."""
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            assert self._process.stdin is not None and self._process.stdout is not None
            print(json.dumps(statement), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
            assert line, f"the engine ended:\n{self._log.read_text()[-4000:]}"
            answer = json.loads(line)
            if "error" in answer:
                raise EngineError(f"{statement}: {answer['error']}")
            rows = [tuple(row) for row in answer["rows"]]
        return rows

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
