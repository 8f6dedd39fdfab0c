"""Carries a table's options from ``CREATE TABLE`` to its reads and writes, in the metadata of a column.

PySpark passes to a Python data source neither a catalog table's properties nor its name: only the columns that the
catalog stored, with their metadata. So ``CREATE TABLE`` without a column list, which asks the source for the columns,
keeps the options, and the reader of these columns reads them.

- Reads find them under :data:`INTERNAL`, one of Spark's own names for metadata, which Spark removes from the columns of
  every other table, view and file that a query makes from this one. So the options stay in this table.
- INSERT has the columns of its table too: with that metadata on PySpark 4.0 to 4.2. From 4.3 on Spark removes it, so
  there the options of writes are also under :data:`PUBLIC`, which follows the column ``timestampType`` into tables and
  files that contain it. It holds no secret.
- That metadata identifies the column's table, and rows of ``CREATE TABLE ... AS SELECT * FROM`` that table carry it
  too. INSERT never provides ``timestampType``, so rows that have it come from such a statement:
  :mod:`oncelog.spark.sql.table_writer` refuses them.
"""

from __future__ import annotations

from pyspark.sql.types import StructField, StructType

from oncelog.runtime import real_json as json
from oncelog.spark.sql.table_options import OptionsOfTable
from oncelog.spark.versions import KEEPS_INTERNAL_METADATA

MARKED = "timestampType"
INTERNAL = "__file_source_metadata_col"
"""A name that Spark's ``removeInternalMetadata`` removes (4.0 to 4.3), without effect on its own."""
PUBLIC = "oncelog"


def marked(columns: StructType, options: OptionsOfTable) -> StructType:
    """The columns, with the table's options in the metadata of one of them."""
    metadata = {INTERNAL: _text(options)}
    if not KEEPS_INTERNAL_METADATA:
        metadata[PUBLIC] = _text(OptionsOfTable({}, options.writing))
    return StructType(
        [
            StructField(field.name, field.dataType, field.nullable, metadata if field.name == MARKED else None)
            for field in columns.fields
        ]
    )


def options_of(columns: StructType) -> OptionsOfTable | None:
    """The options of the table that has these columns; None if the columns are not those of a table of oncelog."""
    for field in columns.fields:
        text = field.metadata.get(INTERNAL) or field.metadata.get(PUBLIC)
        if isinstance(text, str) and field.name == MARKED:
            found = json.loads(text)
            return OptionsOfTable(found["reading"], found["writing"])
    return None


def _text(options: OptionsOfTable) -> str:
    return json.dumps({"reading": dict(options.reading), "writing": dict(options.writing)})
