"""``oncelog export``: writes the committed records of a topic into a table in files."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.completers import complete_topics
from oncelog.cli.shared.options import ConnectionOptions, cluster_options, text
from oncelog.cli.shared.output import counted, progress, remark, show_json
from oncelog.cli.shared.registry_option import RegistryAccess, registry, registry_option
from oncelog.cli.shared.stop_signal import Stop
from oncelog.errors import ConfigError, OncelogError
from oncelog.runtime.packages import need_packages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oncelog.apps.export.exporting import Export
    from oncelog.apps.export.target import ExportTarget
    from oncelog.apps.export.typed import TypedColumn
    from oncelog.client.core.config import ConsumerConfig

FORMATS = ("parquet", "csv", "delta")
PART_BYTES = 128 << 20


@click.command("export")
@click.argument("topic", type=text, shell_complete=complete_topics)
@click.option("--to", required=True, metavar="PATH", help="FILE.csv, or a folder FOLDER.parquet or FOLDER.delta.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format of the export.  [default: from the suffix of --to]",
)
@click.option(
    "--storage", multiple=True, metavar="NAME=VALUE",
    help="An option of the object store of a Delta table, by delta-rs' names; may be repeated.",
)  # fmt: skip
@click.option(
    "--malformed", type=click.Choice(("fail", "null")), default="fail", show_default=True,
    help="What to do with keys and values that do not fit their schema, and with timestamps beyond those of tables.",
)  # fmt: skip
@click.option(
    "--part-bytes", type=click.IntRange(min=1), default=PART_BYTES, show_default=True, metavar="N",
    help="Commit after this many bytes, and begin a new file of Parquet or Delta.",
)  # fmt: skip
@click.option(
    "--skip-deleted", is_flag=True, help="Continue after records that were deleted before they were exported."
)
@click.option(
    "--message", type=text, metavar="NAME",
    help="The message of the values' Protobuf file whose fields are the columns.  [default: the first of the file]",
)  # fmt: skip
@registry_option
@cluster_options
def command(
    cluster: ConnectionOptions,
    topic: str,
    message: str | None,
    to: str,
    form: str | None,
    storage: tuple[str, ...],
    malformed: str,
    part_bytes: int,
    skip_deleted: bool,
    schema_registry: RegistryAccess,
) -> None:
    """Export the committed records of TOPIC into Parquet, CSV or a Delta table, each once.

    It exports the records that exist when it starts; repeated, it adds those that have come since. Data and position
    are committed in one step: after a kill at any point, the same command continues.

    With --schema-registry, key and value are columns of their schemas' types: Avro, JSON Schema and Protobuf. Without
    it, they are bytes, or text in CSV.

    With --json, it prints a line of totals after each part and at the end.

    \b
    Examples:
      oncelog export orders --to orders.parquet
      oncelog export orders --to orders.csv --schema-registry http://127.0.0.1:8081
      oncelog export orders --to s3://lake/orders --format delta --storage AWS_REGION=eu-central-1
    """
    from oncelog.client.blocking import Admin, Consumer

    form = form or Path(to).suffix.removeprefix(".")
    if form not in FORMATS:
        raise ConfigError(f"--to ends with .parquet, .csv or .delta, or --format says what to write, not {to!r}")
    if message and not schema_registry:
        raise ConfigError("--message names a message of a schema: give --schema-registry too")
    need_packages("oncelog export needs", ("pyarrow", "numpy"), "spark")
    target = _target(to, form, _storage(storage, form))
    stop = Stop()
    try:
        with (
            closing(target),
            Admin(config=cluster.admin_settings()) as admin,
            Consumer(config=_reading(cluster)) as consumer,
        ):
            from oncelog.apps.export.exporting import Export

            export = Export(
                admin, consumer, topic, target,
                part_bytes=part_bytes, skip_deleted=skip_deleted, nulls=malformed == "null",
            )  # fmt: skip
            typed = _open(export, topic, schema_registry, message or "", nulls=malformed == "null")
            _rounds(export, stop, to, typed, as_json=cluster.as_json)
    except OSError as error:
        raise OncelogError(f"{to} cannot be written: {error.strerror or error}") from error


def _storage(given: tuple[str, ...], form: str) -> dict[str, str]:
    if given and form != "delta":
        raise ConfigError("--storage is for Delta tables: leave it out")
    found = dict(one.partition("=")[::2] for one in given)
    for name, value in found.items():
        if not name or not value:
            raise ConfigError(f"--storage takes NAME=VALUE, not {name!r}")
    return found


def _target(to: str, form: str, storage: Mapping[str, str]) -> ExportTarget:
    if form == "delta":
        need_packages("oncelog export to Delta needs", ("deltalake", "pyspark"), "delta")
        from oncelog.apps.export.delta_table import ExportedDelta

        return ExportedDelta(to, storage)
    if "://" in to:
        raise ConfigError(f"--to {to}: an object store holds Delta tables only (--format delta)")
    if form == "csv":
        from oncelog.apps.export.csv_file import CsvFile

        return CsvFile(Path(to))
    from oncelog.apps.export.parquet_folder import ParquetFolder

    return ParquetFolder(Path(to))


def _reading(cluster: ConnectionOptions) -> ConsumerConfig:
    from oncelog.client.core.config import ConsumerConfig

    given = {name: value for name, value in cluster.properties.items() if name != "group.id"}
    fixed = {"isolation.level": "read_committed", "enable.auto.commit": "false", "auto.offset.reset": "none"}
    return ConsumerConfig.from_properties({**given, **fixed})


def _open(
    export: Export, topic: str, access: RegistryAccess, message: str, *, nulls: bool
) -> Mapping[str, TypedColumn]:
    begun = export.begun()
    typed: dict[str, TypedColumn] = {}
    schemas: Mapping[str, int] = {}
    if access:
        from oncelog.apps.export.exporting import schema_ids
        from oncelog.apps.export.typed import TypedColumn
        from oncelog.schemas.codecs import Codecs

        asked = registry(access)
        schemas = schema_ids(asked, topic, begun)
        codecs = Codecs(asked)
        names = {"value": message}
        typed = {
            part: TypedColumn(codecs, number, part, message=names.get(part, ""), nulls=nulls)
            for part, number in schemas.items()
        }
    export.open(begun, typed, schemas)
    return typed


def _rounds(export: Export, stop: Stop, to: str, typed: Mapping[str, TypedColumn], *, as_json: bool) -> None:
    shown = -1
    with progress("exporting", export.left) as advance:
        before = export.left
        while not stop.asked and export.round():
            advance(before - export.left, counted(export.exported, "record"))
            before = export.left
            if as_json and export.exported > max(shown, 0):
                shown = export.exported
                show_json(_totals(export, typed))
        export.commit()
    if as_json:
        show_json(_totals(export, typed))
        return
    unread = export.beyond + sum(one.unread for one in typed.values())
    remark(
        f"{counted(export.exported, 'record')} exported to {to}"
        + (f", {unread} malformed as null" if unread else "")
        + (f", {export.deleted} offsets skipped that were deleted" if export.deleted else "")
        + (f"; {export.left} offsets left, the same command continues" if export.left else "")
    )


def _totals(export: Export, typed: Mapping[str, TypedColumn]) -> dict[str, int]:
    unread = export.beyond + sum(one.unread for one in typed.values())
    return {"records": export.exported, "malformed": unread, "deleted": export.deleted, "left": export.left}
