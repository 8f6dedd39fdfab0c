"""Private ground of PySpark and of Spark's JVM is trodden in one package only, and each use there says what it is."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import oncelog
from oncelog.spark import private_apis
from oncelog.spark.private_apis.uses import PrivateApi

SOURCES = Path(oncelog.__file__).parent
FENCED = Path(private_apis.__file__).parent

PUBLIC_MODULES = (
    "pyspark",
    "pyspark.accumulators",
    "pyspark.errors",
    "pyspark.sql",
    "pyspark.sql.connect.session",
    "pyspark.sql.datasource",
    "pyspark.sql.functions",
    "pyspark.sql.readwriter",
    "pyspark.sql.streaming.datasource",
    "pyspark.sql.streaming.listener",
    "pyspark.sql.streaming.query",
    "pyspark.sql.streaming.readwriter",
    "pyspark.sql.types",
    "pyspark.sql.utils",
    "pyspark.version",
    "py4j.protocol",
)
"""Those whose names PySpark's reference has, and the classes of py4j's errors."""
NOT_PUBLIC = ("cloudpickle", "worker", "serializers")
OF_NAMED_TUPLES = ("_replace", "_asdict", "_fields")
OF_OTHERS = {
    "spark/source/unlimited.py": ("_read_by",),
    "spark/tables/lake/iceberg.py": ("_requirements", "_updates"),
}
"""Private names of this package's own classes, or of another library."""
OF_THE_STACK = ("f_back", "f_locals", "f_globals")
ALSO_PUBLIC = ("conf", "id", "isActive", "isEmpty", "runId", "sc", "schema", "settings", "statusTracker")
"""Names of Java's that PySpark, or Python, has too."""
TEXTS = (
    "org.apache.spark.sql.",
    "sql.streaming.queryId",
    "streaming.sql.batchId",
    "spark.jobGroup.id",
    "SPARK_PYTHON_RUNTIME",
    "python_streaming_sink_runner",
)
"""What Spark calls what it has not promised."""


IMPORTS = re.compile(r"^\s*(from|import) (pyspark|py4j)\b", re.MULTILINE)


def uses() -> list[PrivateApi[..., object]]:
    modules = [importlib.import_module(f"{private_apis.__name__}.{one.name}") for one in pkgutil.iter_modules([FENCED])]
    return [value for module in modules for value in vars(module).values() if isinstance(value, PrivateApi)]


def names_of_java() -> set[str]:
    """The methods that the uses need."""
    needed = [need.partition(" ")[0] for use in uses() for need in use.needs]
    owners = ("pyspark.", "java.", "environment.", "property.")
    return {need.rpartition(".")[2] for need in needed if not need.startswith(owners)} - {*ALSO_PUBLIC}


def trespasses(place: str, text: str, java: set[str]) -> Iterator[str]:
    """What of a module is private ground, by line."""
    allowed = (*OF_NAMED_TUPLES, *OF_OTHERS.get(place, ()))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute() if _is_private(node, allowed) or node.attr in {*java, *OF_THE_STACK}:
                yield f"{place}:{node.lineno}: {node.attr}"
            case ast.ImportFrom() | ast.Import():
                yield from (f"{place}:{node.lineno}: {name}" for name in _imported(node))
            case ast.Constant(value=str(value)) if any(text in value for text in TEXTS):
                yield f"{place}:{node.lineno}: {value}"


def _is_private(node: ast.Attribute, allowed: tuple[str, ...]) -> bool:
    own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    return node.attr.startswith("_") and not node.attr.startswith("__") and not own and node.attr not in allowed


def _imported(node: ast.ImportFrom | ast.Import) -> Iterator[str]:
    """The names of PySpark's and py4j's that are not public."""
    names = [one.name for one in node.names]
    if isinstance(node, ast.Import):
        yield from (name for name in names if _is_sparks(name) and name not in PUBLIC_MODULES)
    elif _is_sparks(node.module or ""):
        if node.module not in PUBLIC_MODULES:
            yield str(node.module)
        private = [name for name in names if (name.startswith("_") and name != "__version__") or name in NOT_PUBLIC]
        yield from (f"{node.module}.{name}" for name in private)


def _is_sparks(module: str) -> bool:
    return module.partition(".")[0] in ("pyspark", "py4j")


def modules_of_spark() -> list[Path]:
    """Those that see Spark: of its package, and others that import PySpark."""
    found = [path for path in SOURCES.rglob("*.py") if FENCED not in path.parents]
    return [path for path in found if SOURCES / "spark" in path.parents or IMPORTS.search(path.read_text())]


def test_private_apis_of_spark_are_used_only_in_their_own_package() -> None:
    java = names_of_java()
    assert {"internalCreateDataFrame", "activeStreamingQueries", "_jdf"} <= java
    found = [
        line
        for path in modules_of_spark()
        for line in trespasses(path.relative_to(SOURCES).as_posix(), path.read_text(), java)
    ]
    assert found == [], "move it to oncelog.spark.private_apis, with another way for Spark without it"


@pytest.mark.parametrize(
    "line",
    [
        "rows._jdf",
        "spark.sparkContext._jvm.java.lang.System",
        "jdf.queryExecution()",
        "from pyspark.sql.pandas.types import to_arrow_schema",
        "from pyspark import cloudpickle",
        "import pyspark.worker",
        "context.getLocalProperty('streaming.sql.batchId')",
        "sys._getframe().f_back",
    ],
)
def test_uses_of_private_apis_are_detected(line: str) -> None:
    assert list(trespasses("a.py", line, names_of_java()))


def test_each_use_of_a_private_api_documents_why_it_is_needed_and_what_is_lost_without_it() -> None:
    names = [use.name for use in uses()]
    assert len(names) == len(set(names)) >= 15
    for use in uses():
        assert use.needs and use.seen and use.buys and use.loses, use.name
        assert use.function.__doc__, use.name
