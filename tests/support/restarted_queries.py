"""Queries on a machine that may be too busy for Spark. Imports nothing that only the environment of the tests has."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery


def run_to_the_end(start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """Await the query, restarted if the machine was too busy for Spark, which gives a Python worker ten seconds to
    start.
    """
    while True:
        try:
            query = start()
            query.awaitTermination()
            return query
        except PySparkException as error:
            if not worker_was_late(error):
                raise


def worker_was_late(printed: object) -> bool:
    """Whether Spark gave up on a Python worker that had not called back, for the query itself or for a reader."""
    return re.search("Python worker (failed )?to connect back", str(printed)) is not None
