"""Finds and checks the Java runtime that Spark needs, before Spark fails with a message of its own.

Called by :mod:`oncelog.spark.session`, the command line, the test fixture of Apache Kafka, and as
``python -m oncelog.spark.java`` by ``make setup``. Never downloads or installs anything.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from oncelog.errors import OncelogError

MIN_VERSION = 17
ADVICE = (
    "install one (Debian, Ubuntu: sudo apt-get install openjdk-17-jre-headless; "
    "Fedora: sudo dnf install java-21-openjdk-headless; macOS: brew install openjdk@17; "
    "Windows: winget install EclipseAdoptium.Temurin.17.JRE) or set JAVA_HOME to it"
)


class JavaMissing(OncelogError):
    """No usable Java runtime; the text says what was found and how to install one."""


def find_java(environment: Mapping[str, str] = os.environ) -> str:
    """The path of a ``java`` of at least version 17: from JAVA_HOME if that is set, else the first on PATH."""
    home = environment.get("JAVA_HOME")
    if home:
        path = str(Path(home) / "bin" / "java")
        if not Path(path).is_file():
            raise JavaMissing(
                f"JAVA_HOME is {home}, but there is no {path}: unset JAVA_HOME or correct it, or {ADVICE}"
            )
    else:
        found = shutil.which("java", path=environment.get("PATH"))
        if found is None:
            raise JavaMissing(f"Spark needs Java {MIN_VERSION} or later and there is no java on this machine: {ADVICE}")
        path = found
    version = java_version(path)
    if version is None or version < MIN_VERSION:
        shown = "of an unknown version" if version is None else f"version {version}"
        raise JavaMissing(f"Spark needs Java {MIN_VERSION} or later, and {path} is {shown}: {ADVICE}")
    return path


def java_version(path: str) -> int | None:
    """The feature release of a ``java`` program (8 for 1.8); None if the program fails or prints no version."""
    try:
        run = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(run.stderr + run.stdout)


def parse_version(text: str) -> int | None:
    """The feature release of Java (17, for example) from the output of ``java -version``."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def main() -> int:
    try:
        find_java()
    except JavaMissing as error:
        if "--quiet" not in sys.argv[1:]:
            sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
