"""Spark's classes for read limits, which decide where a micro-batch ends; replacements for them where PySpark has
none."""

from __future__ import annotations

from oncelog.spark.versions import HAS_READ_LIMITS

if HAS_READ_LIMITS:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
else:
    from dataclasses import dataclass

    class ReadLimit:  # type: ignore[no-redef]
        """A limit of what a micro-batch reads."""

    class ReadAllAvailable(ReadLimit):  # type: ignore[no-redef]
        """A limit that allows everything that is available."""

    @dataclass(frozen=True)
    class ReadMaxRows(ReadLimit):  # type: ignore[no-redef]
        """A limit of about this many rows at most."""

        max_rows: int

    @dataclass(frozen=True)
    class ReadMinRows(ReadLimit):  # type: ignore[no-redef]
        """A limit that allows no batch until at least this many rows exist."""

        min_rows: int

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """A source that supports Trigger.AvailableNow: its end is fixed when the query starts."""


__all__ = ["ReadAllAvailable", "ReadLimit", "ReadMaxRows", "ReadMinRows", "SupportsTriggerAvailableNow"]
