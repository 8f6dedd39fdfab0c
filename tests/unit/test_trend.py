"""The weekly run's figures are kept as a line each, and drawn in relation to Apache Kafka's of the same run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.report import write_json
from benchmarks.trend import EMPTY, OURS, page, runs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "benchmarks-over-time.md"


def _trend(*words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "benchmarks.trend", *words], cwd=ROOT, check=True)


def test_the_trend_page_keeps_two_runs_and_draws_them(tmp_path: Path) -> None:
    kept, drawn = tmp_path / "runs.jsonl", tmp_path / "page.md"
    for rate in (200.0, 400.0):
        figures = {OURS: {"rate": [rate], "only ours": [1.0]}, "Apache Kafka 4.4.0": {"rate": [100.0], "idle": [0.0]}}
        write_json(figures, tmp_path / "figures.json")
        _trend("keep", tmp_path / "figures.json", kept, "--commit", f"{rate:.0f}abcdef")
    _trend("draw", kept, drawn)
    text = drawn.read_text(encoding="utf-8")
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 2
    assert "| rate | 2.00 | 4.00 | <svg" in text
    assert "2 runs, from " in text and "(`200abcde`)" in text and "(`400abcde`)" in text
    assert "only ours" not in text


def test_a_benchmark_run_without_apache_kafka_has_no_ratio() -> None:
    assert page(
        runs(['{"at": "2026-01-31T00:00:00", "commit": "a", "medians": {"oncelog (interval)": {"rate": 1}}}'])
    ) == (page([]))


def test_the_trend_page_of_the_repository_has_no_runs() -> None:
    assert PAGE.read_text(encoding="utf-8") == page([])
    assert page([]).endswith(EMPTY)
