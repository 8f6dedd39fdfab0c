"""The Python that Spark's workers run, which must have this package installed.

Called by :func:`oncelog.spark.session.session` and by ``oncelog doctor``. Spark starts ``python3`` from the PATH unless
PYSPARK_PYTHON names another one; so in a virtual environment that is not activated the workers do not find the data
source, and Spark reports DATA_SOURCE_NOT_FOUND.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

from oncelog.spark.versions import ONCELOG, PYSPARK

_PROBE = (
    "import sys; from oncelog.spark.versions import ONCELOG, PYSPARK; "
    "sys.stdout.write(' '.join(['%d.%d' % sys.version_info[:2], PYSPARK or '-', ONCELOG]))"
)
_TIMEOUT_S = 60


def worker_python(environment: Mapping[str, str] = os.environ) -> str:
    """The program that a session started with this environment runs as workers."""
    return environment.get("PYSPARK_PYTHON") or "python3"


def worker_python_problem(program: str | None = None, environment: Mapping[str, str] = os.environ) -> str | None:
    """What is wrong with the workers' Python and what to do, in one sentence; None if it is fine.

    :param program: the Python program, if a running session has already chosen it.
    """
    program = program or worker_python(environment)
    advice = f"set PYSPARK_PYTHON={sys.executable} before Spark starts, or activate the virtual environment"
    if shutil.which(program, path=environment.get("PATH")) is None:
        return f"Spark's workers would run {program}, which does not exist: {advice}"
    command = [program, "-c", _PROBE]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=dict(environment)
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Spark's workers would run {program}, which cannot be started ({error}): {advice}"
    if run.returncode != 0:
        return f"Spark's workers would run {program}, which does not find the package oncelog: {advice}"
    ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
    theirs, pyspark, oncelog = [*run.stdout.split(), "-", "-"][:3]
    if theirs != ours:
        return f"Spark's workers would run {program}, which is Python {theirs} and not {ours}: {advice}"
    for name, found, here in (("pyspark", pyspark, PYSPARK), ("oncelog", oncelog, ONCELOG)):
        if found != here:
            has = f"has {name} {found} and not {here}" if found != "-" else f"has no {name}"
            return f"Spark's workers would run {program}, which {has}: {advice}"
    return None
