"""Checks the conditions for a release, and writes its notes.

python -m tools.release --tag v0.1.0 --notes notes.md   refuses a tag that does not fit; writes the changelog's section
python -m tools.release --dry-run --build               says what would be refused, builds and checks, uploads nothing

The tag is ``v`` and the version in ``pyproject.toml``, and ``CHANGELOG.md`` has a section ``## VERSION (DATE)``. The
workflow ``release`` runs this; a dry run may come before the section has its date.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADING = re.compile(r"^## (?P<version>\S+) \((?P<date>[^)]*)\)$", re.MULTILINE)


def section(changelog: str, version: str) -> tuple[str, str] | None:
    """The date and the text of a version's section in the changelog."""
    headings = list(HEADING.finditer(changelog))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        if heading["version"] == version:
            end = following.start() if following else len(changelog)
            return heading["date"], changelog[heading.end() : end].strip()
    return None


def faults(tag: str, version: str, changelog: str) -> list[str]:
    """Why a release with this tag would be refused, each reason in one sentence."""
    found = []
    if tag != f"v{version}":
        found.append(f"the tag {tag} does not fit the version {version} in pyproject.toml: tag v{version}")
    match section(changelog, version):
        case None:
            found.append(f"CHANGELOG.md has no section for {version}: add '## {version} (YYYY-MM-DD)'")
        case date, _ if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
            found.append(f"the section for {version} in CHANGELOG.md has '{date}' where its date belongs: YYYY-MM-DD")
        case _, "":
            found.append(f"the section for {version} in CHANGELOG.md is empty: say what users get")
    return found


def build_and_check(folder: Path) -> None:
    """Build the source distribution and from it a wheel for this system, and check both as an index would."""
    python = Path(sys.executable)
    subprocess.run([python, "-m", "build", "--outdir", folder, ROOT], check=True)
    built = sorted(folder.iterdir())
    subprocess.run([python, "-m", "twine", "check", "--strict", *built], check=True)
    wheels = [path for path in built if path.suffix == ".whl"]
    subprocess.run([python.with_name("check-wheel-contents"), *wheels], check=True)
    for path in built:
        print(f"built {path.name}, {path.stat().st_size / 1e6:.1f} MB")


def main(arguments: list[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", help="default: the version's")
    parser.add_argument("--notes", type=Path, metavar="FILE", help="write the changelog's section to this file")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be refused")
    parser.add_argument("--build", action="store_true", help="build and check what one system can, in a new folder")
    wanted = parser.parse_args(arguments)
    version: str = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    tag = wanted.tag or f"v{version}"
    refused = faults(tag, version, changelog)
    for reason in refused:
        print(f"release {tag} {'would be' if wanted.dry_run else 'is'} refused: {reason}", file=sys.stderr)
    if refused and not wanted.dry_run:
        return 1
    _, text = section(changelog, version) or ("", "")
    if wanted.notes:
        wanted.notes.write_text(f"{text}\n", encoding="utf-8")
    else:
        print(text, flush=True)
    if wanted.build:
        with tempfile.TemporaryDirectory() as folder:
            build_and_check(Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
