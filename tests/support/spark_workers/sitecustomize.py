"""Read by each Python that Spark starts in tests: what all of them need is imported once, and they are forks of that.

Spark's daemon imports next to nothing, because threads and forks do not mix, so each worker that it forks spends two
thirds of a second of CPU time on NumPy, Arrow, pandas (Arrow imports it for its first array), PySpark and the client.
Here NumPy and Arrow are told to start no thread, and the daemon imports all of it. Each streaming query has a
process of its own for its source, which Spark does not fork: here a fork of ``tests.support.forked_sources`` runs the
source, if tests have started that. ``oncelog.spark`` is left to the forks, because it sets up their log.
"""

import gc
import importlib
import os
import sys

SOURCE = "pyspark.sql.streaming.python_streaming_source_runner"
SOURCES_ADDRESS = "ONCELOG_TESTS_SOURCES"
NEEDED = (
    "pyspark.sql.worker.plan_data_source_read",
    "pyarrow.compute",
    "pyarrow.pandas_compat",
    "pandas",
    "oncelog.client.aio.admin.admin_topics",
    "oncelog.client.aio.transactions.batch_transaction",
    "oncelog.client.background",
    "oncelog.client.core.consumer.read_committed",
    "oncelog.client.core.transactions.transaction_manager",
    "oncelog.records.arrow",
)


def import_needed(*others: str) -> None:
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    for name in (*others, *NEEDED):
        importlib.import_module(name)
    gc.freeze()  # a collection would copy all that a fork shares


def run_source_in_a_fork(address: str) -> None:
    """Wait for the end of the fork, which gets a Ctrl-C too, and end with its status; the fork ends if this process is
    killed."""
    import json
    import signal
    import socket

    with socket.socket(socket.AF_UNIX) as fork:
        fork.connect(address)
        process = {"environment": dict(os.environ), "folder": os.getcwd(), "path": [os.getcwd(), *sys.path]}
        socket.send_fds(fork, [b"process"], [0, 1, 2])
        fork.sendall(json.dumps(process).encode() + b"\n")
        with fork.makefile("rb") as answers:
            number = int(answers.readline())
            signal.signal(signal.SIGINT, lambda received, _: os.kill(number, received))
            os._exit(int(answers.readline() or 1))


if sys.orig_argv[1:3] == ["-m", "pyspark.daemon"]:
    import_needed(sys.orig_argv[3])
elif sys.orig_argv[1:] == ["-m", SOURCE] and SOURCES_ADDRESS in os.environ:
    run_source_in_a_fork(os.environ[SOURCES_ADDRESS])
