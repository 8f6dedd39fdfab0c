"""The chunks of the broker's source that a benchmark replaces exist."""

from __future__ import annotations

from pathlib import Path

from benchmarks.kit import QUESTIONS
from oncelog.broker.core import broker


def test_the_questions_that_the_benchmark_of_the_kit_takes_out_are_asked_once() -> None:
    text = Path(broker.__file__).read_text()
    assert {question: text.count(question) for question in QUESTIONS} == dict.fromkeys(QUESTIONS, 1)
