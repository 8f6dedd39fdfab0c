"""Java programs of this folder with Apache Kafka's jars: source files, compiled by the ``java`` that starts them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import IO

from oncelog.spark.java import find_java

HERE = Path(__file__).parent

_LOG4J = """status=error
appender.out.type=Console
appender.out.name=OUT
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c - %m%n
rootLogger.level=WARN
rootLogger.appenderRef.out.ref=OUT
"""


def start_program(
    name: str, *arguments: str, jars: Path, folder: Path, stdin: int | None = subprocess.DEVNULL
) -> subprocess.Popen[str]:
    """Start ``name`` (a source file beside this one): logs go to its standard output, results to its standard error.

    Standard output is the file ``NAME.log`` in ``folder``.
    """
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOG4J)
    command = [find_java(), "-Xmx256m", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={log4j}"]
    command += ["-cp", f"{jars}/*", str(HERE / name), *arguments]
    log: IO[str]
    with (folder / f"{name}.log").open("a") as log:
        return subprocess.Popen(command, stdin=stdin, stdout=log, stderr=subprocess.PIPE, text=True)
