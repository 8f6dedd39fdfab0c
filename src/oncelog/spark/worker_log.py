"""What this package logs in Spark's Python workers: on their standard error, as lines of Spark's own log look.

Called when the package is imported in such a worker. Those beside the driver write to the driver's standard error, so
that is where a warning of the source's plan or of a commit stands among the lines of the driver; those of tasks write
to the executor's. Refusals are raised: Spark logs them on the driver as the error of the query.
"""

from __future__ import annotations

import logging
import os

_FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_in_workers() -> None:
    """Write what is logged with time, level and name, in a worker in which nobody else has set logging up."""
    logger = logging.getLogger("oncelog")
    if os.environ.get("SPARK_PYTHON_RUNTIME") != "PYTHON_WORKER" or logger.hasHandlers():
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_FORM, "%y/%m/%d %H:%M:%S"))
    logger.addHandler(handler)
