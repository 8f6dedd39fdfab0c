"""Write ``docs/reference/spark-versions.md``: what each version of PySpark supports, from the results of the tests.

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

The tests of each row ran in each environment, on Linux with Python 3.11 and Java 17, with an oncelog broker.

- **yes**: all tests passed; **1/7**: they passed with kills at 1 of 7 steps, the others were not run;
- **refused by name**: an error says what to do instead;
- **-**: does not concern that PySpark; **not run**: no result.

"""
TAIL = """
## What does not hold

- **PySpark 3.5** has no Python data sources, so it refuses `format("oncelog")`. Read with Spark's own Kafka connector
  and set its `kafka.isolation.level` to `read_committed`, which is not the default (`oncelog pipeline run` does both).
- **PySpark 4.0 and 4.1** ignore `maxOffsetsPerTrigger` and `minOffsetsPerTrigger` in the first batch of each run, which
  reads everything from the checkpoint on. Their progress reports lack the end of the log, so they show no lag.
- **`Trigger.AvailableNow` on PySpark 4.0 and 4.1** needs `spark.sql.streaming.triggerAvailableNowWrapper.enabled`,
  which `session()` sets. Without it Spark runs a single batch, which after a crash is only the repeated one; the source
  logs a warning.
- **Spark Connect** needs PySpark 4.0; **declarative pipelines** (`spark-pipelines`) need 4.1; **an export to Parquet**
  needs pyarrow 16; oncelog needs Python 3.11.
- **One more sink** in a pipeline, or its first dead letters, continue its checkpoint from PySpark 4.3 on
  ([how](../how-to/pipelines.md#when-a-pipeline-changes)).
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
