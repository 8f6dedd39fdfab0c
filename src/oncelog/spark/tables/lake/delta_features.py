"""Detects features of a Delta table's protocol that deltalake cannot write, by a test commit.

deltalake compares a table's features with its own only in a commit, after rows were computed and files written. So a
table with one column is created in a temporary folder with the same protocol, and gets one empty commit.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.spark.tables.options import TableOptions

_WITH_FEATURES = 7
"""The writer version from which on a table's protocol lists its features."""
_READERS = 3
_DEFAULT = "CURRENT_DEFAULT"
"""The metadata entry of a column with a default; a copy of the table would still have it."""
_DROPPED = (
    "rowTracking",
    "inCommitTimestamp",
    "coordinatedCommits-preview",
    "materializePartitionColumns",
    "domainMetadata",
)
"""Features that Delta-Spark can drop at once, in this order: other features depend on the last one."""
_DROPPED_WITH_HISTORY = ("typeWidening", "typeWidening-preview", "vacuumProtocolCheck", "checkpointProtection")
"""Features that Delta-Spark can drop only together with the table's versions that used them."""


def check_features(table: DeltaTable, options: TableOptions) -> None:
    """Refuse a table that deltalake cannot write. Raises ConfigError with the remedy."""
    protocol = table.protocol()
    versions = protocol.min_reader_version, protocol.min_writer_version
    library = f"deltalake {version('deltalake')}"
    if protocol.min_writer_version < _WITH_FEATURES:
        if not _commits(*versions, (), ()):
            raise ConfigError(
                f"{options} has the protocol of readers {versions[0]} and writers {versions[1]}, which {library} "
                f"cannot write: {_copied(table, options)}"
            )
        return
    readers = frozenset(protocol.reader_features or ())
    features = [one for one in protocol.writer_features or () if not _commits(*_alone(one, readers))]
    if features:
        several = "the features" if len(features) > 1 else "the feature"
        raise ConfigError(
            f"{options} has {several} {' and '.join(sorted(features))}, which {library} cannot write: "
            f"{_way_out(features, table, options)}"
        )


def _alone(feature: str, readers: frozenset[str]) -> tuple[int, int, tuple[str, ...], tuple[str, ...]]:
    if feature in readers:
        return _READERS, _WITH_FEATURES, (feature,), (feature,)
    return 1, _WITH_FEATURES, (), (feature,)


@functools.cache
def _commits(reader: int, writer: int, reader_features: tuple[str, ...], writer_features: tuple[str, ...]) -> bool:
    """Whether the library can commit to a table with this protocol."""
    protocol: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": writer}
    if writer >= _WITH_FEATURES:
        protocol["writerFeatures"] = writer_features
    if reader >= _READERS:
        protocol["readerFeatures"] = reader_features
    column = {"name": "c", "type": "long", "nullable": True, "metadata": {}}
    metadata = {
        "id": "00000000-0000-0000-0000-000000000000",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [column]}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }
    with tempfile.TemporaryDirectory(prefix="oncelog-delta-") as folder:
        log = Path(folder) / "_delta_log"
        log.mkdir()
        actions = ({"protocol": protocol}, {"metaData": metadata})
        (log / f"{0:020}.json").write_text("\n".join(json.dumps(one) for one in actions))
        try:
            table = DeltaTable(folder)
            table.create_write_transaction([], "append", table.schema())
        except DeltaError:
            return False
    return True


def _way_out(features: Sequence[str], table: DeltaTable, options: TableOptions) -> str:
    known = (*_DROPPED, *_DROPPED_WITH_HISTORY)
    if any(one not in known for one in features):
        return _copied(table, options)
    name = f"ALTER TABLE {sql_name(options)} DROP FEATURE"
    steps = [f"{name} {quoted_feature(one)}" for one in _DROPPED if one in features]
    steps += [f"{name} {quoted_feature(one)} TRUNCATE HISTORY" for one in _DROPPED_WITH_HISTORY if one in features]
    again = ", which Spark may ask you to repeat after a time" if steps[-1].endswith("HISTORY") else ""
    return f"drop it in Spark with {' and then '.join(steps)}{again}, or write to another table"


def _copied(table: DeltaTable, options: TableOptions) -> str:
    name = sql_name(options)
    defaults = [f"`{field.name}`" for field in table.schema().fields if _DEFAULT in field.metadata]
    before = [f"ALTER TABLE {name} ALTER COLUMN {column} DROP DEFAULT" for column in defaults]
    steps = " and then ".join([*before, f"CREATE TABLE ... AS SELECT * FROM {name}"])
    return (
        f"no engine takes that from a table, so copy the rows in Spark ({steps}) into a table without, or write to "
        "another table"
    )


def quoted_feature(name: str) -> str:
    return name if name.isalnum() else f"`{name}`"


def sql_name(options: TableOptions) -> str:
    """The table's name in Spark SQL."""
    return f"delta.`{options.table}`"
