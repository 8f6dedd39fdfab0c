"""The bound of small batches: made of what was resolved for the batch before, or analysed where Spark cannot."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from oncelog.spark.private_apis.bounds import Bound, bounded
from oncelog.spark.process import this_process

BOUND = Bound(("id as row",), "row <= 5")


class Output(tuple[str, ...]):
    """Ids of columns; like a list of the JVM's."""

    def equals(self, other: object) -> bool:
        return self == other


class JavaClass:
    """Named as py4j's, by which the use tells a class from a package."""

    def __init__(self, make: Any) -> None:
        self.make = make

    def __call__(self, *given: Any) -> Any:
        return self.make(*given)


class Rows:
    """A DataFrame; what is around another one has its plan."""

    def __init__(self, jdf: Any, session: Any) -> None:
        self._jdf = jdf
        self.sparkSession = session


class Jvm:
    """Spark's side: what it was asked to analyse, and to make of what is resolved."""

    def __init__(self, *, makes_plans: bool) -> None:
        self.analysed: list[str] = []
        self.made: list[Any] = []
        self.makes_plans = makes_plans
        logical = SimpleNamespace(
            Filter=JavaClass(self._filter), Project=JavaClass(lambda columns, plan: (columns, plan))
        )
        within: Any = SimpleNamespace(logical=logical)
        for name in reversed(("org", "apache", "spark", "sql", "catalyst", "plans")):
            within = SimpleNamespace(**{name: within})
        context = SimpleNamespace(_gateway=object(), _jvm=within)
        self.session = SimpleNamespace(sparkContext=context, _jsparkSession=None)

    def _filter(self, condition: str, child: Any) -> Any:
        if not self.makes_plans:
            raise Py4JError("Constructor Filter does not exist")
        return SimpleNamespace(condition=condition, child=child, setAnalyzed=lambda: None)

    def rows(self, *ids: str) -> Any:
        """A DataFrame whose columns have these ids."""
        rows: Any = Rows(
            SimpleNamespace(
                queryExecution=lambda: SimpleNamespace(analyzed=lambda: SimpleNamespace(output=lambda: Output(ids))),
                ofRows=lambda session, plan: self.made.append(plan) or plan,
            ),
            self.session,
        )
        rows.selectExpr = lambda *texts: SimpleNamespace(filter=self._analyse)
        return rows

    def _analyse(self, condition: str) -> Any:
        self.analysed.append(condition)
        child = SimpleNamespace(projectList=lambda: "columns")
        plan = SimpleNamespace(condition=lambda: condition, child=lambda: child)
        return Rows(SimpleNamespace(queryExecution=lambda: SimpleNamespace(analyzed=lambda: plan)), self.session)


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    this_process().close()
    yield
    this_process().close()


@pytest.mark.parametrize(("makes_plans", "analysed", "made"), [(True, 2, 3), (False, 5, 0)])
def test_without_resolved_plans_the_row_bound_of_each_batch_is_analysed(
    makes_plans: bool, analysed: int, made: int
) -> None:
    jvm = Jvm(makes_plans=makes_plans)
    for _ in range(4):
        assert bounded(jvm.rows("a"), BOUND, "sink")._jdf is not None
    assert (len(jvm.analysed), len(jvm.made)) == (analysed, made)
    assert bounded.is_missing(jvm.rows("a"), BOUND, "sink") is not makes_plans


def test_a_batch_with_other_columns_or_another_bound_is_analysed_again() -> None:
    jvm = Jvm(makes_plans=True)
    for _ in range(3):
        bounded(jvm.rows("a"), BOUND, "sink")
    before = len(jvm.analysed)
    bounded(jvm.rows("b"), BOUND, "sink")
    assert len(jvm.analysed) == before + 1
    bounded(jvm.rows("b"), Bound(BOUND.columns, "row <= 6"), "sink")
    assert jvm.analysed[-1] == "row <= 6"
