"""Read by each Python that Spark starts in tests: what tasks need is imported once, by the daemon that forks
workers.

Spark's daemon imports next to nothing, because threads and forks do not mix, so each worker that it forks spends two
thirds of a second of CPU time on NumPy, Arrow, pandas (Arrow imports it for its first array), PySpark and the client.
Here NumPy and Arrow are told to start no thread, and the daemon for tasks imports all of it. ``oncelog.spark`` is left
to the workers, because it sets up their log.
"""

import importlib
import os
import sys

if sys.orig_argv[1:] == ["-m", "pyspark.daemon", "pyspark.worker"]:
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    for _name in (
        "pyspark.worker",
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
    ):
        importlib.import_module(_name)
