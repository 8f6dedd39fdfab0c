"""Spark's Python workers: recognises whether this process is a worker, finds its connection to the JVM, and pickles
functions.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from types import FrameType
from typing import Any

from oncelog.spark.private_apis.uses import ApiMissing, private_api


def _runs_pyspark() -> bool:
    """Whether PySpark's worker programs run in this process; the driver imports none of their modules."""
    return "pyspark.worker_util" in sys.modules or "pyspark.daemon" in sys.modules


@private_api(
    "environment.SPARK_PYTHON_RUNTIME from 4.3",
    seen="4.3.0",
    buys="workers log times, collect no garbage of imports (20 to 40 ms of CPU a task), and acknowledge input at once",
    instead=_runs_pyspark,
    loses="a worker is recognised by the PySpark programs that it has loaded",
)
def is_worker() -> bool:
    """Whether Spark's JVM started this process to run Python for it."""
    found = os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER"
    if not found and _runs_pyspark():
        raise ApiMissing("SPARK_PYTHON_RUNTIME is not set in a worker")
    return found


def _no_connection() -> socket.socket | None:
    return None


@private_api(
    "pyspark.worker.main",
    buys="a small batch of format('oncelog') takes 86 ms instead of 124: see oncelog.spark.python_worker",
    instead=_no_connection,
    loses="the input of small tasks waits for delayed acknowledgements",
)
def jvm_connection() -> socket.socket | None:
    """A duplicate of the TCP socket from which PySpark's ``main(infile, outfile)`` on this thread's stack reads; None
    if it reads from something else.

    The caller closes the duplicate; PySpark's own socket stays open.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None and not (frame.f_code.co_name == "main" and "infile" in frame.f_locals):
        frame = frame.f_back
    if frame is None:
        raise ApiMissing("no main(infile, outfile) of PySpark is on the stack")
    reads = frame.f_locals["infile"]
    if frame.f_globals.get("__name__") != "pyspark.worker" or not stat.S_ISSOCK(os.fstat(reads.fileno()).st_mode):
        return None  # this worker plans a query instead of running a task, or uses a Unix domain socket
    found = socket.socket(fileno=os.dup(reads.fileno()))
    if found.family in (socket.AF_INET, socket.AF_INET6):
        return found
    found.close()
    return None


def _may_do_more() -> bool:
    return False


@private_api(
    "pyspark.sql.worker.python_streaming_sink_runner from 4.0",
    seen="4.0.5, 4.3.0",
    buys="a commit begins without asking the broker again",
    instead=_may_do_more,
    loses="the columns are checked and the broker is asked again before each commit",
)
def only_commits() -> bool:
    """Whether Spark started this process to commit the batches of streams.

    In such a process, Spark creates a batch's writer a second time, from the options of the writer whose tasks have
    run.
    """
    return "pyspark.sql.worker.python_streaming_sink_runner" in sys.modules


def _by_serializer() -> Any:
    from pyspark.serializers import CloudPickleSerializer

    kind: Any = CloudPickleSerializer
    return kind()


@private_api(
    "pyspark.cloudpickle",
    buys="functions of the user's program run in workers without the program's modules",
    instead=_by_serializer,
    loses="no drawback: PySpark's serializer does the same",
)
def pickler() -> Any:
    """The serializer that Spark uses for functions and classes of a program, with ``dumps`` and ``loads``."""
    from pyspark import cloudpickle

    return cloudpickle
