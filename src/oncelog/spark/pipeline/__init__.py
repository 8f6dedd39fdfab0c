"""Pipelines: from a definition, in Python or in a file, to running queries.

The names here are what users' files import: :mod:`oncelog.spark.pipeline.definition`.
"""

from oncelog.spark.pipeline.definition import Pipeline, PipelineError, Sink, Source, TableSink, pipeline

__all__ = ["Pipeline", "PipelineError", "Sink", "Source", "TableSink", "pipeline"]
