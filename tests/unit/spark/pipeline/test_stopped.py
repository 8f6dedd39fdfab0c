"""What a stopped run of a pipeline says about itself and about the next start."""

from __future__ import annotations

from pathlib import Path

from oncelog.spark.executors.write import Written
from oncelog.spark.pipeline.stopped import Finished


def written(batch_id: int, **sinks: int) -> Written:
    return Written(batch_id, "driver", 0, sum(sinks.values()), 0, 0.1, sinks=sinks)


def spark_has(folder: Path, planned: int, ended: int) -> str:
    for log, last in (("offsets", planned), ("commits", ended)):
        (folder / log).mkdir(exist_ok=True)
        for number in range(last + 1):
            (folder / log / str(number)).touch()
    return str(folder)


def test_the_summary_of_a_run_without_a_finished_batch_says_so(tmp_path: Path) -> None:
    reported = Finished().describe("late", str(tmp_path))
    assert reported == "late: stopped, no batch was finished in this run; the next start begins with batch 0"


def test_the_summary_counts_finished_batches_and_rows_of_each_sink(tmp_path: Path) -> None:
    finished = Finished()
    finished.add(written(3, table=1000, topic=2))
    assert "stopped, batch 3 is finished (1,000 rows to table, 2 rows to topic)" in finished.describe(
        "p", str(tmp_path)
    )
    finished.add(written(4, table=5, topic=0))
    assert finished.describe("p", spark_has(tmp_path, 4, 4)) == (
        "p: stopped, batches 3 to 4 are finished (1,005 rows to table, 2 rows to topic); the next start continues with "
        "batch 5"
    )


def test_the_summary_says_that_an_unfinished_batch_will_be_repeated(tmp_path: Path) -> None:
    reported = Finished().describe("p", spark_has(tmp_path, 4, 3))
    assert "the next start repeats batch 4, which was under way: what a sink has of it is left out" in reported


def test_the_summary_reports_a_checkpoint_that_cannot_be_read(tmp_path: Path) -> None:
    assert "what the next start does cannot be told" in Finished().describe("p", "nowhere://x/y")
