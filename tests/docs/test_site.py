"""The documentation site builds, and MkDocs finds no dead link, missing page or broken reference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    mkdocs = Path(sys.executable).with_name("mkdocs")
    built = subprocess.run(
        [mkdocs, "build", "--strict", "--site-dir", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    for page in (ROOT / "docs").rglob("*.md"):
        assert (tmp_path / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), page
    reference = (tmp_path / "reference" / "python.html").read_text()
    assert "transactional_id" in reference and "bootstrap_servers" in reference
    assert "begin_flush" not in reference and "records_waiting" not in reference
