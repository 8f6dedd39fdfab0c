"""``python -m tools.codec [--check]``: write ``protocol/generated`` from the tables, or verify it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tools.codec.module_emitter import emit_module, emit_package
from tools.codec.schema import load_messages

GENERATED: Final = Path(__file__).parents[2] / "src" / "oncelog" / "protocol" / "generated"


def expected_files() -> dict[str, str]:
    """The expected contents of ``protocol/generated``, by file name."""
    messages = load_messages()
    files = {f"{message.module}.py": emit_module(message) for message in messages}
    return {"__init__.py": emit_package(messages), **files}


def differences(folder: Path = GENERATED) -> list[str]:
    """The differences between the folder and the expected files, one line each; empty if the folder is current."""
    expected = expected_files()
    present = {path.name: path for path in folder.glob("*.py")}
    found = [f"{name}: no table defines it" for name in sorted(present.keys() - expected.keys())]
    found += [f"{name}: missing" for name in sorted(expected.keys() - present.keys())]
    stale = [name for name in expected.keys() & present.keys() if present[name].read_text() != expected[name]]
    return found + [f"{name}: differs from its table" for name in sorted(stale)]


def write(folder: Path = GENERATED) -> int:
    """Bring the folder up to date; returns the number of changed files."""
    changed = differences(folder)
    expected = expected_files()
    for path in folder.glob("*.py"):
        if path.name not in expected:
            path.unlink()
    for name, text in expected.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return len(changed)


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        wrong = differences()
        for line in wrong:
            sys.stderr.write(line + "\n")
        if wrong:
            sys.stderr.write("run: python -m tools.codec\n")
        return 1 if wrong else 0
    if arguments:
        sys.stderr.write("usage: python -m tools.codec [--check]\n")
        return 2
    sys.stdout.write(f"{write()} files changed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
