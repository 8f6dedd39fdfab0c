"""The chunks of the broker's source that a benchmark replaces exist."""

from __future__ import annotations

from pathlib import Path

from benchmarks.kit import QUESTIONS
from oncelog.broker.core import broker


def test_each_check_that_the_benchmark_disables_occurs_once_in_the_code() -> None:
    text = Path(broker.__file__).read_text()
    assert {question: text.count(question) for question in QUESTIONS} == dict.fromkeys(QUESTIONS, 1)
