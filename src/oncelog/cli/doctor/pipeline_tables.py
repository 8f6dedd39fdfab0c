"""The tables of a pipeline, for ``oncelog pipeline doctor`` and ``clean``: what the next start will do with them, and
what failed tasks left behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.output import counted, remark, show_json
from oncelog.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oncelog.cli.shared.registry_option import RegistryAccess
    from oncelog.spark.pipeline import Pipeline
    from oncelog.spark.sink.checkpoint import Checkpoint
    from oncelog.spark.tables.doctor import TableDiagnosis
    from oncelog.spark.tables.options import TableOptions

OLDER_THAN_H = 72
"""The minimum age in hours of files that are deleted: three days, as in Iceberg's removal of orphan files, because no
batch takes that long."""


def pipeline_of(file: Path, checkpoint: str) -> Pipeline:
    """The pipeline of a file to which a checkpoint belongs: the only one, or the one whose name is that of the
    checkpoint's folder.

    :raises ConfigError: there is none.
    """
    from oncelog.spark.pipeline.file import load_pipelines

    found = load_pipelines(file)
    folder = checkpoint.rstrip("/").rpartition("/")[2]
    for one in found:
        if one.name == folder or len(found) == 1:
            return one
    raise ConfigError(f"{file} has no pipeline {folder}, but {', '.join(one.name for one in found)}")


def table_diagnoses(
    one: Pipeline, checkpoint: Checkpoint | None, bootstrap_servers: str, registry: RegistryAccess
) -> Sequence[TableDiagnosis]:
    """Predict what the next start will do with each table. Spark starts, to learn which columns the rows have.

    :param checkpoint: None before the first start.
    :param registry: the schema registry of sources that name none.
    """
    from oncelog.spark.pipeline.definition import ONLY
    from oncelog.spark.pipeline.registered import find_schemas
    from oncelog.spark.pipeline.rows import table_schemas
    from oncelog.spark.pipeline.running import spark_log
    from oncelog.spark.session import session
    from oncelog.spark.sink.planning import now_ms
    from oncelog.spark.tables.doctor import diagnose_table

    if not one.table_sinks:
        return []
    registered = find_schemas(one, registry)
    with spark_log(Path("/dev/null")):
        spark = session("oncelog pipeline doctor", master="local[1]")
        try:
            schemas = table_schemas(spark, one, bootstrap_servers, registered)
        finally:
            spark.stop()
    found = []
    for name, sink in one.table_sinks.items():
        options = sink.parsed(one.mode)
        sink_name = "" if name == ONLY else name
        found.append(diagnose_table(checkpoint, options, sink_name, schemas[name], now_ms(), OLDER_THAN_H))
    return found


@click.command("clean")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="NAME", help="The tables of this pipeline of FILE; may be repeated.")
@click.option(
    "--option", "-o", "options", multiple=True, metavar="NAME=VALUE",
    help="Without FILE: an option of to_table, such as format=delta and table=PATH; may be repeated.",
)  # fmt: skip
@click.option(
    "--older-than-hours", type=click.IntRange(min=1), default=OLDER_THAN_H, show_default=True, metavar="N",
    help="Keep leftovers that are younger: a running batch may need them.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@click.option("--json", "-J", "as_json", is_flag=True, help="One JSON object for each leftover.")
def clean(
    file: Path | None,
    only: tuple[str, ...],
    options: tuple[str, ...],
    older_than_hours: int,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Delete files and rows that tasks have left beside the tables of FILE, and that no commit names.

    A task that failed, ran twice or lost its driver leaves Parquet files (Delta, Iceberg) or staged rows (PostgreSQL),
    which nothing reads. Files of other writers, and files that an older version of the table names, are kept.

    \b
    Examples:
      oncelog pipeline clean late.toml --dry-run
      oncelog pipeline clean -o format=delta -o table=lake/flights --older-than-hours 24
    """
    from oncelog.spark.tables.sink import open_store

    count = size = 0
    for table in _tables(file, only, options):
        store = open_store(table)
        found = store.leftovers(older_than_hours)
        if not dry_run:
            store.remove(found, older_than_hours)
        for one in found:
            if as_json:
                show_json({"table": str(table), **one._asdict(), "deleted": not dry_run})
            else:
                rows = "" if one.rows is None else f", {counted(one.rows, 'row')}"
                click.echo(f"{one.what}\t{one.size_bytes} bytes{rows}")
        count += len(found)
        size += sum(one.size_bytes for one in found)
    if not as_json:
        remark(f"{count} left over, {size:,} bytes{', nothing was deleted' if dry_run else ', deleted'}")


def _tables(file: Path | None, only: tuple[str, ...], options: tuple[str, ...]) -> Iterable[TableOptions]:
    from oncelog.spark.tables.options import parse_table_options

    if (file is None) == (not options):
        raise ConfigError("oncelog pipeline clean takes the FILE of a pipeline, or --option for one table: give one")
    if file is None:
        pairs = [one.partition("=") for one in options]
        if any(not separator for _, separator, _ in pairs):
            raise ConfigError("--option takes NAME=VALUE, such as format=delta")
        return [parse_table_options({name: value for name, _, value in pairs})]
    from oncelog.spark.pipeline.file import load_pipelines

    pipelines = load_pipelines(file)
    names = [one.name for one in pipelines]
    for name in only:
        if name not in names:
            raise ConfigError(f"--only names {name!r}, but the pipelines of {file} are {', '.join(names)}")
    return [
        sink.parsed(one.mode) for one in pipelines if not only or one.name in only for sink in one.table_sinks.values()
    ]
