"""``oncelog doctor``: reports what this installation runs on, which optional parts are missing, and what endangers a
cluster's data.
"""

from __future__ import annotations

from pathlib import Path

import click

from oncelog.cli.doctor.findings import DoctorFinding, Status, bad
from oncelog.cli.shared.options import ConnectionOptions
from oncelog.cli.shared.output import show_json, show_table
from oncelog.cli.shared.parameters import PropertiesFile
from oncelog.cli.shared.properties import given_properties
from oncelog.cli.shared.registry_option import RegistryAccess, registry_option
from oncelog.cli.shared.wait_messages import waits_reported
from oncelog.errors import OncelogError


@click.command("doctor")
@click.option(
    "--data", type=click.Path(path_type=Path), help="A broker's data folder: check its free space and sync time."
)
@click.option(
    "--listen",
    default="127.0.0.1:9092",
    show_default=True,
    metavar="HOST:PORT",
    help="Check that this address is free.",
)
@click.option("--bootstrap-server", "-b", metavar="HOST:PORT", help="Check this cluster too.")
@click.option("--config", "-F", type=PropertiesFile(), help="The client's properties file.")
@click.option("--set", "-X", "assignments", multiple=True, metavar="NAME=VALUE", help="A property of the client.")
@click.option("--checkpoint", help="A query's checkpoint, compared with its marker in that cluster.")
@click.option(
    "--pause-minutes",
    type=click.IntRange(min=1),
    default=3 * 24 * 60,
    show_default=True,
    help="How long a query may be stopped.",
)
@registry_option
@click.option("--json", "-J", "as_json", is_flag=True, help="Answer in JSON.")
def command(
    data: Path | None,
    listen: str,
    bootstrap_server: str | None,
    config: Path | None,
    assignments: tuple[str, ...],
    checkpoint: str | None,
    pause_minutes: int,
    schema_registry: RegistryAccess,
    as_json: bool,
) -> None:
    """Print what this installation runs on, what it lacks, and how to correct that. Nothing is changed.

    With --bootstrap-server, it also prints what endangers exactly-once in a cluster, this broker's or Apache Kafka's,
    and with --schema-registry, schema ids in topics that the registry does not know. Exit status 1 if a finding is bad.

    \b
    Examples:
      oncelog doctor
      oncelog doctor --data ./data --bootstrap-server 127.0.0.1:9092
      oncelog doctor --bootstrap-server kafka:9092 --checkpoint checkpoints/late
    """
    from oncelog.broker.server.listener_settings import Address
    from oncelog.cli.doctor.doctor_here import findings

    properties = given_properties(config, assignments)
    if bootstrap_server is not None:
        properties["bootstrap.servers"] = bootstrap_server
    there = "bootstrap.servers" in properties
    if checkpoint is not None and not there:
        raise click.UsageError("--checkpoint needs --bootstrap-server: the marker is in the cluster")
    if properties and not there:
        raise click.UsageError(f"{', '.join(properties)}: properties of a client need --bootstrap-server")
    found = list(findings(data, Address.parse(listen)))
    cluster = ConnectionOptions(properties, as_json) if there else None
    with waits_reported():
        if cluster is not None:
            found += _cluster(cluster, pause_minutes, checkpoint)
        if schema_registry:
            from oncelog.cli.doctor.doctor_schemas import findings as of_registry

            found += of_registry(schema_registry, cluster)
    if as_json:
        show_json([one.as_json() for one in found])
    else:
        show_table(["PART", "STATUS", "FOUND"], [(one.check, one.status.value, one.found) for one in found])
        for one in found:
            if one.todo:
                click.echo(f"{one.status.value}: {one.check}: {one.todo}")
    if any(one.status is Status.BAD for one in found):
        raise click.exceptions.Exit(1)


def _cluster(cluster: ConnectionOptions, pause_minutes: int, checkpoint: str | None) -> list[DoctorFinding]:
    from oncelog.cli.doctor.doctor_cluster import findings
    from oncelog.client.core.client_errors import UnsupportedVersionError

    found: list[DoctorFinding] = []
    try:
        with cluster.admin() as admin:
            found += findings(admin, pause_minutes)
    except OncelogError as error:
        too_old = isinstance(error, UnsupportedVersionError)
        todo = "upgrade it" if too_old else "start it, or check the address and the client's security settings"
        return [bad("cluster", str(error), todo)]
    if checkpoint is not None:
        from oncelog.cli.doctor.pipeline_doctor import diagnoses, opened

        for one in diagnoses(cluster, opened(checkpoint)):
            start = f"{one.checkpoint}, group {one.group}: the next start would {one.verdict} batch {one.next_batch}"
            if one.verdict == "refuse":
                found.append(bad("checkpoint", start, one.reason))
            else:
                found.append(DoctorFinding("checkpoint", f"{start}, {one.reason}"))
    return found
