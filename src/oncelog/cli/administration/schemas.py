"""``oncelog schemas``: shows, registers, checks and deletes schemas of a registry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from oncelog.cli.shared.options import text
from oncelog.cli.shared.output import counted, remark, show_json, show_rows
from oncelog.cli.shared.parameters import CommandGroup
from oncelog.cli.shared.registry_option import RegistryAccess, registry, registry_option
from oncelog.errors import ConfigError

if TYPE_CHECKING:
    from oncelog.schemas.structs import RegisteredSchema, Schema

Function = TypeVar("Function", bound=Callable[..., Any])
TYPES = ["AVRO", "JSON", "PROTOBUF"]


def _options(function: Function) -> Function:
    with_json = click.option("--json", "-J", "as_json", is_flag=True, help="Answer in JSON.")(function)
    return registry_option(with_json)


def _file_options(function: Function) -> Function:
    typed = click.option(
        "--type",
        "schema_type",
        type=click.Choice(TYPES),
        help="The schema type.  [default: from the suffix .avsc, .json or .proto]",
    )(function)
    referring = click.option(
        "--reference",
        "references",
        multiple=True,
        metavar="NAME=SUBJECT:VERSION",
        help="A schema that the schema refers to.",
    )(typed)
    return click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))(referring)


@click.group("schemas", cls=CommandGroup)
def command() -> None:
    """Schemas of a registry with Confluent's API: list, show, register, check, compare and delete.

    \b
    Example:
      oncelog schemas list --schema-registry http://127.0.0.1:8081
    """


@command.command("list")
@click.option("--deleted", is_flag=True, help="Also subjects that were deleted without --permanent.")
@_options
def list_subjects(schema_registry: RegistryAccess, as_json: bool, deleted: bool) -> None:
    """Subjects with their versions.

    \b
    Example:
      oncelog schemas list --schema-registry http://127.0.0.1:8081
    """
    with registry(schema_registry) as asked:
        rows = [
            {"subject": subject, "versions": asked.versions(subject, deleted=deleted)}
            for subject in asked.subjects(deleted=deleted)
        ]
    if not as_json:
        rows = [{**row, "versions": ", ".join(map(str, row["versions"]))} for row in rows]
    show_rows(as_json, rows, ("subject", "versions"), "no subjects")


@command.command("show")
@click.argument("named", metavar="ID|SUBJECT[:VERSION]", type=text)
@_options
def show(schema_registry: RegistryAccess, as_json: bool, named: str) -> None:
    """Show a schema by its id, or a subject's version, the latest unless it is named.

    \b
    Examples:
      oncelog schemas show orders-value --schema-registry http://127.0.0.1:8081
      oncelog schemas show orders-value:2
      oncelog schemas show 17
    """
    from oncelog.schemas.differences import pretty

    with registry(schema_registry) as asked:
        if named.isdecimal():
            schema = asked.schema(int(named))
            used = [{"subject": subject, "version": version} for subject, version in asked.where_used(int(named))]
            fields: dict[str, Any] = {"id": int(named), "used": used, **_fields(schema)}
        else:
            found = asked.version(*_version(named))
            schema, fields = found.schema, _registered(found)
    if as_json:
        show_json(fields)
        return
    click.echo(pretty(schema))
    remark(
        ", ".join(f"{name} {value}" for name, value in fields.items() if name in ("subject", "version", "id", "type"))
    )


@command.command("register")
@click.argument("subject", type=text)
@click.option("--normalize", is_flag=True, help="Register the schema's normal form.")
@_file_options
@_options
def register(
    schema_registry: RegistryAccess,
    as_json: bool,
    subject: str,
    file: Path,
    schema_type: str | None,
    references: tuple[str, ...],
    normalize: bool,
) -> None:
    """Register a schema as a subject's next version, unless the subject already has it.

    \b
    Examples:
      oncelog schemas register orders-value order.avsc --schema-registry http://127.0.0.1:8081
      oncelog schemas register orders-value order.avsc --reference shop.Line=line:1
    """
    schema = _given(file, schema_type, references)
    with registry(schema_registry) as asked:
        schema_id = asked.register(subject, schema, normalize=normalize)
        version = asked.lookup(subject, schema, normalize=normalize).version
    if as_json:
        show_json({"subject": subject, "version": version, "id": schema_id})
    else:
        click.echo(f"{subject} version {version} has id {schema_id}")


@command.command("check")
@click.argument("subject", type=text)
@click.option("--version", default="latest", show_default=True, help="Compare with this version.")
@_file_options
@_options
def check(
    schema_registry: RegistryAccess,
    as_json: bool,
    subject: str,
    file: Path,
    schema_type: str | None,
    references: tuple[str, ...],
    version: str,
) -> None:
    """Check whether a schema could become a subject's next version, under its compatibility. Exit status 1 if not.

    \b
    Example:
      oncelog schemas check orders-value order.avsc --schema-registry http://127.0.0.1:8081
    """
    schema = _given(file, schema_type, references)
    with registry(schema_registry) as asked:
        problems = asked.problems(subject, schema, version)
        level = asked.compatibility(subject)
    if as_json:
        show_json({"subject": subject, "compatible": not problems, "compatibility": level, "problems": problems})
    elif not problems:
        click.echo(f"{file} is compatible with {subject} version {version} ({level})")
    for problem in problems if not as_json else ():
        click.echo(problem)
    if problems:
        raise click.exceptions.Exit(1)


@command.command("delete")
@click.argument("named", metavar="SUBJECT[:VERSION]", type=text)
@click.option("--permanent", is_flag=True, help="Delete permanently what was deleted without this option before.")
@_options
def delete(schema_registry: RegistryAccess, as_json: bool, named: str, permanent: bool) -> None:
    """Delete a subject, or one of its versions. Until --permanent, its ids stay known, so that records can be read.

    \b
    Examples:
      oncelog schemas delete orders-value:2 --schema-registry http://127.0.0.1:8081
      oncelog schemas delete orders-value
      oncelog schemas delete orders-value --permanent
    """
    subject, version = _version(named)
    with registry(schema_registry) as asked:
        if version == "latest" and not named.endswith(":latest"):
            deleted = asked.delete_subject(subject, permanent=permanent)
        else:
            deleted = [asked.delete_version(subject, version, permanent=permanent)]
    if as_json:
        show_json({"subject": subject, "versions": deleted, "permanent": permanent})
    else:
        click.echo(f"{subject}: {counted(len(deleted), 'version')} deleted: {', '.join(map(str, deleted))}")


@command.command("diff")
@click.argument("older", metavar="SUBJECT:VERSION", type=text)
@click.argument("newer", metavar="[SUBJECT:VERSION]", type=text, required=False)
@_options
def diff(schema_registry: RegistryAccess, as_json: bool, older: str, newer: str | None) -> None:
    """Show what differs between two versions; the second one is the latest unless it is named.

    \b
    Examples:
      oncelog schemas diff orders-value:1 --schema-registry http://127.0.0.1:8081
      oncelog schemas diff orders-value:1 orders-value:3
    """
    from oncelog.schemas.differences import differences

    with registry(schema_registry) as asked:
        first = asked.version(*_version(older))
        second = asked.version(*_version(newer if newer is not None else first.subject))
    lines = differences(first, second)
    if as_json:
        show_json({"older": _registered(first), "newer": _registered(second), "lines": lines})
        return
    for line in lines:
        click.echo(line)
    if not lines:
        remark("no difference")


def _version(named: str) -> tuple[str, str]:
    """Split a subject and its version at a colon; without a number or ``latest`` after the last colon, the whole text
    is the subject, and the version is the latest."""
    subject, colon, version = named.rpartition(":")
    if colon and subject and (version.isdecimal() or version == "latest"):
        return subject, version
    return named, "latest"


def _given(file: Path, schema_type: str | None, references: tuple[str, ...]) -> Schema:
    from oncelog.cli.shared.schema_values import schema_file
    from oncelog.schemas.structs import Reference, Schema

    schema = schema_file(file, schema_type)
    found = []
    for given in references:
        name, equals, place = given.partition("=")
        subject, _, version = place.rpartition(":")
        if not (name and equals and subject and version.isdecimal()):
            raise ConfigError(f"--reference takes NAME=SUBJECT:VERSION, not {given!r}")
        found.append(Reference(name, subject, int(version)))
    return Schema(schema.text, schema.schema_type, tuple(found))


def _registered(found: RegisteredSchema) -> dict[str, Any]:
    return {"subject": found.subject, "version": found.version, "id": found.schema_id, **_fields(found.schema)}


def _fields(schema: Schema) -> dict[str, Any]:
    references = [{"name": one.name, "subject": one.subject, "version": one.version} for one in schema.references]
    return {"type": schema.schema_type, "schema": schema.text, "references": references}
