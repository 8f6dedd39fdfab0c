"""The checks of ``oncelog doctor`` on this machine, which connect to nothing and change nothing."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import shutil
import socket
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from oncelog.broker.server.disk.os_disk import lacking, sync_call
from oncelog.broker.server.listener_settings import Address
from oncelog.broker.server.opening import ListenError, bind
from oncelog.cli.doctor.findings import DoctorFinding, bad, warn
from oncelog.records import native
from oncelog.runtime import real_time

FEW_DESCRIPTORS = 4096
SLOW_SYNC_MS = 20.0
SYNCS = 20
LITTLE_SPACE = 0.1
FREE_SPACE = "free space: on a full disk partitions refuse records, and even oncelog topics delete needs a little room"
LITTLE_SPACE_BYTES = 1 << 30
_TIMEX_BYTES = 512
"""The size of the buffer for ``struct timex``, larger than the structure of any kernel."""
_TIME_ERROR = 5
EARLIEST_S = 1_735_689_600
"""The beginning of 2025, in seconds since 1970; a clock that shows an earlier time was never set."""


def findings(data: Path | None, listen: Address) -> Iterator[DoctorFinding]:
    """The findings about this machine.

    :param data: the data folder of a broker, examined if it exists.
    :param listen: the address at which a broker is to listen.
    """
    yield DoctorFinding("oncelog", version("oncelog"))
    yield DoctorFinding("python", _python())
    yield _codec()
    loop = "uvloop" if find_spec("uvloop") is not None else "asyncio (faster with oncelog[speed])"
    yield DoctorFinding("event loop", loop)
    yield _port(listen)
    yield from _descriptors()
    yield from _disk(data)
    yield _clock()
    yield from _spark()


def _python() -> str:
    threads = ", free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return f"{platform.python_implementation()} {platform.python_version()}{threads}, {platform.platform(terse=True)}"


def _codec() -> DoctorFinding:
    if native.compiled is not None:
        return DoctorFinding("record codec", native.codec())
    return warn("record codec", native.codec(), "install a wheel, or a C compiler before pip install oncelog")


def _port(listen: Address) -> DoctorFinding:
    try:
        bind(listen).close()
    except (ListenError, socket.gaierror) as error:
        return warn(
            "port",
            str(error),
            "if your broker runs there, this is as it should be; else give oncelog serve another --listen, or stop "
            "what listens there",
        )
    return DoctorFinding("port", f"{listen} is free")


def _descriptors() -> Iterator[DoctorFinding]:
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    state = f"{soft} now, {hard} at most: a partition takes two, a connection one"
    if hard < FEW_DESCRIPTORS:
        yield warn("descriptors", state, "raise the hard limit: ulimit -Hn, LimitNOFILE= of the service")
    else:
        yield DoctorFinding("descriptors", state)


def _disk(data: Path | None) -> Iterator[DoctorFinding]:
    missing = lacking()
    if missing:
        yield warn("data on disk", f"not possible here: no {', '.join(missing)}", "use Linux or macOS to keep data")
        return
    yield DoctorFinding("data on disk", f"possible, synced with {sync_call()}")
    named = data or Path()
    try:
        named = named.absolute()
        folder = next(path for path in (named, *named.parents) if path.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            yield bad("disk", f"{folder} is not a folder that this user may write to", "name another one with --data")
            return
        usage, sync_time = shutil.disk_usage(folder), _sync_time(folder)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        todo = FREE_SPACE if full else "name another folder with --data"
        yield bad("disk", f"nothing can be written in {named}: {error.strerror}", todo)
        return
    state = f"{usage.free / 1e9:.1f} of {usage.total / 1e9:.1f} GB free at {named}"
    state += "" if folder == named else ", which oncelog serve would create"
    if usage.free < min(LITTLE_SPACE * usage.total, LITTLE_SPACE_BYTES):
        yield bad("disk", state, FREE_SPACE)
    else:
        yield DoctorFinding("disk", state)
    yield sync_time


def _sync_time(folder: Path) -> DoctorFinding:
    took = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(SYNCS):
            file.write(bytes(4096))
            file.flush()
            begin = real_time.perf_counter()
            os.fsync(file.fileno())
            took.append((real_time.perf_counter() - begin) * 1000)
    state = f"{median(took):.1f} ms (median of {SYNCS}, longest {max(took):.1f} ms)"
    if median(took) > SLOW_SYNC_MS:
        return warn(
            "sync time",
            state,
            "oncelog.flush.policy=commit waits for each sync: use a faster disk, or the policy interval",
        )
    return DoctorFinding("sync time", state)


def _clock() -> DoctorFinding:
    now = real_time.time()
    state = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    if now < EARLIEST_S:
        return bad("clock", state, "set the clock: retention and timestamps depend on it")
    if kept_in_step() is False:
        return warn(
            "clock",
            f"{state}, and according to the kernel nothing synchronises it",
            "run chrony or systemd-timesyncd, here or on the host: retention and transactions' ages go by the clock",
        )
    return DoctorFinding("clock", state)


def kept_in_step() -> bool | None:
    """Whether a service such as NTP or PTP keeps the kernel's clock synchronized; None if the kernel does not say."""
    if not sys.platform.startswith("linux"):
        return None
    answer = ctypes.create_string_buffer(_TIMEX_BYTES)  # all zero, so modes = 0: adjtimex only reads
    try:
        state = ctypes.CDLL(None).adjtimex(answer)
    except (OSError, AttributeError):
        return None
    return None if state < 0 else state != _TIME_ERROR


def _spark() -> Iterator[DoctorFinding]:
    from oncelog.spark import versions

    installed = versions.PYSPARK
    if not installed:
        yield DoctorFinding("spark", "not installed: pip install 'oncelog[spark]'")
        return
    problem = versions.pyspark_problem(installed)
    if problem is not None:
        yield bad("spark", f"pyspark {installed}", problem)
    else:
        lacks = versions.lacking(installed)
        yield DoctorFinding("spark", f"pyspark {installed}" + (f", without {', '.join(lacks)}" if lacks else ""))
    yield _spark_libraries(versions.libraries_problem())
    yield _java()
    yield _spark_home(installed)
    from oncelog.spark.python import worker_python, worker_python_problem

    problem = worker_python_problem()
    if problem is not None:
        found, _, todo = problem.partition(": ")
        yield bad("spark's python", found, todo or "see oncelog doctor --json")
    else:
        yield DoctorFinding("spark's python", worker_python(os.environ))


def _plain(version: str) -> str:
    """A version without a platform's suffix: ``3.5.4`` for jars of version ``3.5.4-amzn-0`` and for a PySpark
    ``3.5.4+amzn.0``."""
    return re.split(r"[-+]", version)[0]


def _spark_libraries(problem: str | None) -> DoctorFinding:
    from oncelog.spark.versions import libraries

    found = ", ".join(f"{name} {version or 'missing'}" for name, version in libraries().items())
    return DoctorFinding("spark's libraries", found) if problem is None else bad("spark's libraries", found, problem)


def _spark_home(installed: str) -> DoctorFinding:
    """Report which Spark PySpark will start: its own jars, or those of SPARK_HOME."""
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "").split()
    if arguments and arguments[-1] != "pyspark-shell":
        return bad(
            "spark's environment",
            f"PYSPARK_SUBMIT_ARGS={' '.join(arguments)} does not end with pyspark-shell: the JVM would exit at once",
            "end it with pyspark-shell, or unset it",
        )
    home = os.environ.get("SPARK_HOME")
    if home == "":
        return bad(
            "spark's environment",
            "SPARK_HOME is set, but empty: PySpark looks for bin/spark-submit in the working directory",
            "unset SPARK_HOME to use pyspark's own jars",
        )
    if home is None:
        return DoctorFinding(
            "spark's environment", f"Spark starts with the jars of pyspark {installed}; SPARK_HOME is not set"
        )
    jars = sorted((Path(home) / "jars").glob("spark-core_*.jar"))
    found = re.search(r"spark-core_[\d.]+-(\d.*)\.jar", jars[0].name) if jars else None
    if found is None:
        return bad(
            "spark's environment",
            f"SPARK_HOME={home} holds no jars/spark-core_*.jar",
            "unset SPARK_HOME to use pyspark's own jars",
        )
    if _plain(found[1]) != _plain(installed):
        return bad(
            "spark's environment",
            f"SPARK_HOME={home} is Spark {found[1]}, but pyspark is {installed}",
            "unset SPARK_HOME, or install the pyspark of that version: the two share a private protocol",
        )
    return DoctorFinding("spark's environment", f"SPARK_HOME={home}, Spark {found[1]}")


def _java() -> DoctorFinding:
    from oncelog.spark.java import JavaMissing, find_java

    try:
        return DoctorFinding("java", find_java())
    except JavaMissing as error:
        return bad("java", "Spark finds no Java that it can use", str(error))
