"""What a release requires of tag, version and changelog."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.release import faults, main, section

CHANGELOG = """# Changes

## 0.2.0 (2027-01-31)

- Second.

### Broker

- More.

## 0.1.0 (unreleased)

- First.

## 0.0.1 (2026-01-31)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n')
    return tmp_path


def test_a_changelog_section_ends_at_the_next_version() -> None:
    assert section(CHANGELOG, "0.2.0") == ("2027-01-31", "- Second.\n\n### Broker\n\n- More.")
    assert section(CHANGELOG, "0.1.0") == ("unreleased", "- First.")
    assert section(CHANGELOG, "0.2") is None


def test_a_tag_of_the_version_with_a_dated_section_is_accepted() -> None:
    assert faults("v0.2.0", "0.2.0", CHANGELOG) == []


@pytest.mark.parametrize(
    ("tag", "version", "fault"),
    [
        ("v0.2.1", "0.2.0", "tag v0.2.0"),
        ("0.2.0", "0.2.0", "tag v0.2.0"),
        ("v0.3.0", "0.3.0", "no section for 0.3.0"),
        ("v0.1.0", "0.1.0", "'unreleased' where its date belongs"),
        ("v0.0.1", "0.0.1", "is empty"),
    ],
)
def test_any_other_tag_is_refused_with_the_reason(tag: str, version: str, fault: str) -> None:
    (found,) = faults(tag, version, CHANGELOG)
    assert fault in found


def test_the_notes_are_the_versions_section(tree: Path) -> None:
    notes = tree / "notes.md"
    assert main(["--tag", "v0.2.0", "--notes", str(notes)], tree) == 0
    assert notes.read_text() == "- Second.\n\n### Broker\n\n- More.\n"


def test_only_a_dry_run_continues_after_a_refusal(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = tree / "notes.md"
    assert main(["--tag", "v9.9.9", "--notes", str(notes)], tree) == 1
    assert "release v9.9.9 is refused" in capsys.readouterr().err
    assert not notes.exists()
    assert main(["--tag", "v9.9.9", "--notes", str(notes), "--dry-run"], tree) == 0
    assert "release v9.9.9 would be refused" in capsys.readouterr().err
    assert notes.exists()
