"""Write ``docs/reference/spark-versions.md``: what holds on which PySpark, from the results of the tests.

``make spark-versions`` runs the tests of ``tests/spark_versions`` and keeps their results in :data:`RESULTS`, from
which this makes the page. With ``--check`` it says whether the page is current, with ``--print`` it prints the table.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.spark_versions.environments import ENVIRONMENTS

RESULTS = Path("tests/spark_versions/results.json")
PAGE = Path("docs/reference/spark-versions.md")

HEAD = """# Which PySpark

<!-- Made by tools/document_spark_versions.py from tests/spark_versions/results.json: run make spark-versions. -->

What the tests of each row showed in each environment, on Linux with Python 3.11 and Java 17, with an oncelog broker.
`make test` runs two of the environments, with one kill of each way to write; `make soak` runs all of them, with
pipelines and all kills.

- **yes**, and the seconds that it took on two cores beside other programs, starts of Spark among them;
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
- Python 3.9 and 3.10 are not taken: oncelog needs 3.11.
"""


def page(results: list[dict[str, Any]]) -> str:
    return f"{HEAD}{libraries()}\n{table(results)}{TAIL}"


def libraries() -> str:
    lines = ["| environment | PySpark | numpy | pandas | pyarrow | chosen for |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {' | '.join((one.name, one.pyspark, one.numpy, one.pandas, one.pyarrow, one.like or 'recent libraries'))} |"
        for one in ENVIRONMENTS.values()
    ]
    return "\n".join(lines) + "\n"


def table(results: list[dict[str, Any]]) -> str:
    """A row for each case, a column for each environment."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    cases: dict[str, None] = {}
    for result in results:
        cases[result["case"]] = None
        found[result["case"], result["environment"]].append(result)
    lines = [f"| | {' | '.join(ENVIRONMENTS)} |", "|---|" + "---|" * len(ENVIRONMENTS)]
    for case in cases:
        ranges = [(result["least"], result["below"]) for result in results if result["case"] == case]
        cells = [
            cell(found.get((case, name), []), not any(least <= list(one.release) < below for least, below in ranges))
            for name, one in ENVIRONMENTS.items()
        ]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def cell(results: list[dict[str, Any]], is_outside: bool) -> str:
    if not results:
        return "-" if is_outside else "not run"
    if any(result["outcome"] != "passed" for result in results):
        return "**no**"
    holds = results[0]["holds"]
    if holds != "yes":
        return str(holds)
    steps = results[0].get("steps", 1)
    part = f", {len(results)} of {steps} steps" if len(results) < steps else ""
    return f"yes{part}, {sum(result['seconds'] for result in results):.0f} s"


def main() -> int:
    results = json.loads(RESULTS.read_text())
    if "--print" in sys.argv[1:]:
        print(table(results))
    text = page(results)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
        return 0
    if not PAGE.exists() or PAGE.read_text() != text:
        sys.stderr.write(f"{PAGE} is not what the results say\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
