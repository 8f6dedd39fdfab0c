"""Logs of this package in Spark's Python workers: on standard error, formatted like Spark's own log.

Called when the package is imported in such a worker. Workers next to the driver write to the driver's standard error,
so warnings from planning a read or from a commit appear among the driver's lines; those of tasks appear in the
executor's. Refusals are raised: Spark logs them on the driver as the error of the query.
"""

from __future__ import annotations

import logging

from oncelog.spark.private_apis import workers

_FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_in_workers() -> None:
    """Log with time, level and name, in a worker in which logging has not been set up."""
    logger = logging.getLogger("oncelog")
    if not workers.is_worker() or logger.hasHandlers():
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_FORM, "%y/%m/%d %H:%M:%S"))
    logger.addHandler(handler)
