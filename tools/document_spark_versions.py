"""Write ``docs/reference/spark-versions.md``: what holds on which PySpark, from the results of the tests.

``make spark-versions`` runs the tests of ``tests/compatibility/spark_versions`` and keeps their results in
:data:`RESULTS`, from which this makes the page. With ``--check`` it says whether the page is current, with ``--print``
it prints the table.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.compatibility.spark_versions.environments import ENVIRONMENTS
from tools.version_tables import Results, table, write

RESULTS = Path("tests/compatibility/spark_versions/results.json")
PAGE = Path("docs/reference/spark-versions.md")
COLUMNS = {name: environment.release for name, environment in ENVIRONMENTS.items()}

HEAD = """# Which PySpark

<!-- Made by tools/document_spark_versions.py from tests/compatibility/spark_versions/results.json:
run make spark-versions. -->

What the tests of each row showed in each environment, on Linux with Python 3.11 and Java 17, with an oncelog broker.
`make test-all` runs writes and streams on 3.5, with a kill, and everything else on the newest PySpark; `make soak` runs
all, with pipelines and all kills. The tests of an environment share a session, except where something is killed.

- **yes**, and the seconds that it took on two cores beside other programs, with starts of Spark where it has its own;
- **refused by name**: an error says what to do instead;
- **-**: does not concern that PySpark;
- **1 of 7 steps**: of the steps at which the tests kill it, so many were tried;
- **not run**: no result is kept here.

"""
TAIL = """
## What does not hold

- **PySpark 3.5** has no Python data sources: `format("oncelog")` is refused with a sentence where
  `oncelog.spark.session` has been imported; elsewhere Spark's own message appears. Read with Spark's own Kafka
  connector, and set `kafka.isolation.level` to `read_committed` there, which is not its default (`oncelog pipeline run`
  does).
- **PySpark 4.0 and 4.1** call a Python source without saying where a batch begins and how much it may read. After a
  restart the query continues exactly at its checkpoint, but the first batch of each run reads everything there is:
  `maxOffsetsPerTrigger` and `minOffsetsPerTrigger` hold from the second batch on.
- **`Trigger.AvailableNow` on PySpark 4.0 and 4.1** reads what was there at the start in one batch. `session()` sets
  `spark.sql.streaming.triggerAvailableNowWrapper.enabled` for it; in a session of your own, set it yourself. Without it
  Spark runs a single batch, which after a crash is only the repeated one; the source then logs a warning.
- **Progress reports of PySpark 4.0 and 4.1** do not hold the end of the log, so no lag can be computed from them.
- **Spark Connect** begins with PySpark 4.0 for this sink: on 3.5 there are no data sources, and `write` and
  `for_each_batch` refuse a session of Spark Connect by name.
- **Declarative pipelines** (`spark-pipelines`) begin with PySpark 4.1.
- **One more sink** in a pipeline, or its first dead letters, continue its checkpoint from PySpark 4.3 on
  ([how](../how-to/pipelines.md#when-a-pipeline-changes)).
- **An export to Parquet** needs pyarrow 16.
- Python 3.9 and 3.10 are not taken: oncelog needs 3.11.
"""


def page(results: Results) -> str:
    return f"{HEAD}{libraries()}\n{table(results, COLUMNS)}{TAIL}"


def libraries() -> str:
    lines = ["| environment | PySpark | numpy | pandas | pyarrow | chosen for |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {' | '.join((one.name, one.pyspark, one.numpy, one.pandas, one.pyarrow, one.like or 'recent libraries'))} |"
        for one in ENVIRONMENTS.values()
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    return write(RESULTS, PAGE, COLUMNS, page)


if __name__ == "__main__":
    sys.exit(main())
