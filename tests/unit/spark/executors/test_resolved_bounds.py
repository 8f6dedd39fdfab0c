"""The bound of small batches: made of what was resolved for the batch before, or analysed where Spark cannot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from oncelog.spark.executors.collected import Bound, ResolvedBounds

BOUND = Bound(("id as row",), "row <= 5")


class Output(tuple[str, ...]):
    """Ids of columns; like a list of the JVM's."""

    def equals(self, other: object) -> bool:
        return self == other


class Jvm:
    """Spark's side: what it was asked to analyse, and to make of what is resolved."""

    def __init__(self, *, makes_plans: bool) -> None:
        self.analysed: list[str] = []
        self.made: list[Any] = []
        self.makes_plans = makes_plans
        logical = SimpleNamespace(Filter=self._filter, Project=lambda columns, plan: (columns, plan))
        names = ("org", "apache", "spark", "sql", "catalyst", "plans")
        within: Any = SimpleNamespace(logical=logical)
        for name in reversed(names):
            within = SimpleNamespace(**{name: within})
        self.context = SimpleNamespace(_gateway=object(), _jvm=within)

    def _filter(self, condition: str, child: Any) -> Any:
        if not self.makes_plans:
            raise Py4JError("Constructor Filter does not exist")
        return SimpleNamespace(condition=condition, child=child, setAnalyzed=lambda: None)

    def rows(self, *ids: str) -> Any:
        """A DataFrame whose columns have these ids."""
        return SimpleNamespace(
            _jdf=SimpleNamespace(
                queryExecution=lambda: SimpleNamespace(analyzed=lambda: SimpleNamespace(output=lambda: Output(ids))),
                selectExpr=lambda texts: SimpleNamespace(filter=lambda condition: self._analyse(condition)),
                ofRows=lambda session, plan: self.made.append(plan) or plan,
            ),
            _jseq=list,
            sparkSession=SimpleNamespace(sparkContext=self.context, _jsparkSession=None),
        )

    def _analyse(self, condition: str) -> Any:
        self.analysed.append(condition)
        child = SimpleNamespace(projectList=lambda: "columns")
        plan = SimpleNamespace(condition=lambda: condition, child=lambda: child)
        return SimpleNamespace(queryExecution=lambda: SimpleNamespace(analyzed=lambda: plan))


@pytest.mark.parametrize(("makes_plans", "analysed", "made"), [(True, 2, 3), (False, 5, 0)])
def test_a_spark_that_makes_no_plans_of_what_is_resolved_analyses_each_bound(
    makes_plans: bool, analysed: int, made: int
) -> None:
    jvm, bounds = Jvm(makes_plans=makes_plans), ResolvedBounds()
    for _ in range(4):
        assert bounds.put_around(jvm.rows("a"), BOUND, "sink") is not None
    assert (len(jvm.analysed), len(jvm.made)) == (analysed, made)


def test_other_columns_or_another_bound_are_analysed() -> None:
    jvm, bounds = Jvm(makes_plans=True), ResolvedBounds()
    for _ in range(3):
        bounds.put_around(jvm.rows("a"), BOUND, "sink")
    before = len(jvm.analysed)
    bounds.put_around(jvm.rows("b"), BOUND, "sink")
    assert len(jvm.analysed) == before + 1
    bounds.put_around(jvm.rows("b"), Bound(BOUND.columns, "row <= 6"), "sink")
    assert jvm.analysed[-1] == "row <= 6"
