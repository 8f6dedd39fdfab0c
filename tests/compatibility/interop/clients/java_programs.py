"""Java programs of this folder with Apache Kafka's jars: source files, compiled by the ``java`` that starts them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import IO

from tests.support.apache_kafka import java_command

HERE = Path(__file__).parent


def start_program(
    name: str, *arguments: str, folder: Path, stdin: int | None = subprocess.DEVNULL
) -> subprocess.Popen[str]:
    """Start ``name`` (a source file beside this one): logs go to its standard output, results to its standard error.

    Standard output is the file ``NAME.log`` in ``folder``.
    """
    command = [*java_command(), "-Xmx256m", "-XX:TieredStopAtLevel=1", str(HERE / name), *arguments]
    log: IO[str]
    with (folder / f"{name}.log").open("a") as log:
        return subprocess.Popen(command, stdin=stdin, stdout=log, stderr=subprocess.PIPE, text=True)
