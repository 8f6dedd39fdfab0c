"""Downloads jars from Maven Central once into a cache, with the Ivy that comes with PySpark: no Maven, no container.

Called by the demo, for Spark's own Kafka connector, and by the tests' Apache Kafka. Environment:
``ONCELOG_KAFKA_CACHE`` (default ``~/.cache/oncelog/kafka``), ``DEFAULT_ARTIFACT_REPOSITORY`` (a mirror, as Spark
reads it).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from oncelog.errors import OncelogError
from oncelog.spark.java import find_java

Module = tuple[str, str, str]
"""A module of Maven: organisation, name and revision."""
_SPARK_CONNECTOR: tuple[Module, ...] = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
)
"""The jars of Spark's connector. The newest connector has no token provider of the same version, so all four are
listed.
"""


class DownloadFailed(OncelogError):
    """Jars could not be downloaded; the text ends with Ivy's output."""


def cache_folder() -> Path:
    given = os.environ.get("ONCELOG_KAFKA_CACHE")
    return Path(given).expanduser() if given else Path.home() / ".cache" / "oncelog" / "kafka"


def spark_connector_jars() -> list[Path]:
    """The jars of Spark's own Kafka connector, for ``spark.jars``; downloaded if they are missing."""
    return sorted(jars("spark-connector", _SPARK_CONNECTOR, transitive=False, timeout_s=180).glob("*.jar"))


def jars(name: str, modules: Sequence[Module], *, transitive: bool, timeout_s: int = 900) -> Path:
    """A folder of jars, complete or absent: processes that ask at the same time share one download."""
    cache = cache_folder()
    target = cache / name
    if target.is_dir():
        return target
    import fcntl  # imported here, because fcntl is missing on Windows, where the rest of this module works

    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            sys.stderr.write(f"downloading {modules[0][1]} {modules[0][2]} into {target}\n")
            partial = cache / f"{name}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            _resolve(cache, modules, partial, transitive=transitive, timeout_s=timeout_s)
            partial.rename(target)
    return target


def _resolve(cache: Path, modules: Sequence[Module], folder: Path, *, transitive: bool, timeout_s: int) -> None:
    conf = "default->default" if transitive else "default->master"
    dependencies = "".join(
        f'<dependency org="{org}" name="{name}" rev="{revision}" conf="{conf}" transitive="{str(transitive).lower()}"/>'
        for org, name, revision in modules
    )
    mirror = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY")
    root = f" root={quoteattr(mirror)}" if mirror else ""
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "ivy.xml").write_text(
            '<ivy-module version="2.0"><info organisation="oncelog" module="jars"/>'
            f'<configurations><conf name="default"/></configurations><dependencies>{dependencies}</dependencies>'
            "</ivy-module>"
        )
        (Path(scratch) / "settings.xml").write_text(
            f'<ivysettings><settings defaultResolver="central"/><caches defaultCacheDir={quoteattr(f"{cache}/ivy")}/>'
            f'<resolvers><ibiblio name="central" m2compatible="true"{root}/></resolvers></ivysettings>'
        )
        command = [find_java(), "-jar", str(_ivy_jar()), "-settings", "settings.xml", "-ivy", "ivy.xml"]
        command += ["-types", "jar", "bundle", "-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
        try:
            run = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired as error:
            raise DownloadFailed(f"{modules[0][1]} did not come from Maven Central within {timeout_s} s") from error
    if run.returncode != 0 or not list(folder.glob("*.jar")):
        raise DownloadFailed(
            f"cannot download {modules[0][1]} from Maven Central: check the network\n{run.stdout[-2000:]}"
        )


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise DownloadFailed("PySpark is needed to download jars: pip install 'oncelog[spark]'")
    return next((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
