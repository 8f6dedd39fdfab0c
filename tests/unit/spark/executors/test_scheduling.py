"""Whether Spark has computed rows again that tasks have read from a shuffle."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from oncelog.spark.executors.scheduling import any_input_repeated

BEFORE = frozenset({"driver", "0", "1"})


def spark_with(jobs: dict[int, list[int]], attempts: dict[int, int], executors: list[str]) -> Any:
    """A session whose jobs of any tag have ended.

    :param jobs: the stages of each job.
    :param attempts: the last attempt of each stage that ran.
    """
    context = Mock(master="spark://m:7077")
    context._jsc.sc.return_value.statusTracker.return_value.getJobIdsForTag.return_value = list(jobs)
    tracker = context.statusTracker.return_value
    tracker.getJobInfo = lambda job: SimpleNamespace(jobId=job, stageIds=jobs[job], status="SUCCEEDED")
    tracker.getStageInfo = lambda stage: (
        SimpleNamespace(stageId=stage, currentAttemptId=attempts[stage]) if stage in attempts else None
    )
    listed = context._jsc.sc.return_value.statusStore.return_value.executorList.return_value
    listed.size.return_value = len(executors)
    listed.apply = lambda number: Mock(**{"id.return_value": executors[number]})
    return SimpleNamespace(sparkContext=context, conf={"spark.dynamicAllocation.enabled": "false"})


@pytest.mark.parametrize(
    ("jobs", "attempts", "executors", "repeated"),
    [
        pytest.param({0: [0, 1], 1: [2, 3]}, {0: 0, 1: 0, 3: 0}, ["driver", "0", "1"], False, id="undisturbed"),
        pytest.param({0: [0, 1], 1: [2, 3]}, {0: 0, 1: 0, 3: 1}, ["driver", "0", "1"], True, id="second attempt"),
        pytest.param({0: [0, 1], 1: [2, 3]}, {0: 0, 1: 0, 2: 0, 3: 0}, ["driver", "1", "2"], True, id="lost between"),
        pytest.param({0: [0], 1: [1]}, {0: 0, 1: 0}, ["driver", "1", "2"], False, id="lost, without a shuffle"),
        pytest.param({0: [0, 1]}, {0: 0, 1: 0}, ["driver", "0", "1", "2"], False, id="more executors"),
    ],
)
def test_rows_count_as_computed_again_after_a_second_attempt_or_the_loss_of_an_executor(
    jobs: dict[int, list[int]], attempts: dict[int, int], executors: list[str], repeated: bool
) -> None:
    assert any_input_repeated(spark_with(jobs, attempts, executors), "tag", BEFORE) is repeated
