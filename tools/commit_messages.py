"""Check messages of commits: a subject of 5 to 72 characters, and a blank line before the body.

python -m tools.commit_messages            every commit since :data:`FIRST`; `make check` and CI run this
python -m tools.commit_messages --file F   the message in a file; the commit-msg hook runs this
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Final

FIRST: Final = "b53b1bffd5fae6f8522562b1593807a90d112b02"
"""The commit that introduced this check; earlier commits are not checked."""
MAX_SUBJECT: Final = 72
MIN_SUBJECT: Final = 5
ROOT: Final = Path(__file__).parents[1]


def faults(message: str) -> list[str]:
    """The faults of a message, each in one sentence; lines that git's editor adds as comments are ignored."""
    lines = [line.rstrip() for line in message.splitlines() if not line.startswith("#")]
    while lines and not lines[0]:
        lines.pop(0)
    if not lines:
        return ["it is empty"]
    found = []
    if len(lines[0]) > MAX_SUBJECT:
        found.append(
            f"its subject has {len(lines[0])} characters, at most {MAX_SUBJECT} are allowed: move the rest to the body"
        )
    if len(lines[0]) < MIN_SUBJECT:
        found.append(f"its subject is {lines[0]!r}: say what the commit changes")
    if lines[0].endswith("."):
        found.append("its subject ends with a full stop: leave it out")
    if len(lines) > 1 and lines[1]:
        found.append("its second line is not blank: subject and body are separated by a blank line")
    return found


def commits(repository: Path, first: str) -> list[tuple[str, str]]:
    """Hash and message of each commit after ``first``, without merges.

    If ``first`` is missing, as in a shallow clone, all available commits.
    """

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", "-C", str(repository), *words], capture_output=True, text=True, check=False)

    known = git("cat-file", "-e", f"{first}^{{commit}}").returncode == 0
    listed = git("log", "--no-merges", "-z", "--format=%h%n%B", f"{first}..HEAD" if known else "HEAD")
    if listed.returncode:
        return []  # a source distribution has no Git history
    entries = (entry.partition("\n") for entry in listed.stdout.split("\0") if entry)
    return [(name, message) for name, _, message in entries]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="check the message in this file")
    file: Path | None = parser.parse_args(arguments).file
    messages = [("the message", file.read_text())] if file else commits(ROOT, FIRST)
    wrong = [f"{name}: {fault}\n" for name, message in messages for fault in faults(message)]
    sys.stderr.write("".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
