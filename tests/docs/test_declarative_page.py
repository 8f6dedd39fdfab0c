"""The project that the page shows is the one that the tests run."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["spark-pipeline.yml", "transformations/sales.py"])
def test_the_page_about_declarative_pipelines_shows_the_example(name: str) -> None:
    page = (ROOT / "docs" / "how-to" / "declarative.md").read_text()
    assert f"\n{(ROOT / 'examples' / 'declarative' / name).read_text()}```\n" in page
