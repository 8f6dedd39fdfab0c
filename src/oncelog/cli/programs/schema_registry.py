"""``oncelog schema-registry``: runs a schema registry that stores its schemas in any Kafka cluster."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.options import ConnectionOptions, cluster_options
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_json as json

if TYPE_CHECKING:
    from socket import socket

    from oncelog.schema_registry.settings import RegistrySettings


@click.command("schema-registry")
@click.option(
    "--listen", default="127.0.0.1:8081", show_default=True, metavar="HOST:PORT", help="Port 0: any free port."
)
@click.option("--topic", "-t", default="_schemas", show_default=True, help="The topic that keeps schemas and settings.")
@click.option(
    "--url",
    metavar="URL",
    help="The address under which other registries of the cluster reach this one.  [default: where it listens]",
)
@click.option(
    "--login",
    type=click.Choice(["none", "kafka"]),
    default="none",
    show_default=True,
    help="kafka: users of the cluster log in with their passwords, and have the rights of its ACLs on the topic.",
)
@click.option(
    "--tls-certificate",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A PEM file with the certificate, and those that lead to its authority.",
)
@click.option(
    "--tls-key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The certificate's private key, in PEM.",
)
@click.option("--log-level", default="warning", type=click.Choice(["debug", "info", "warning", "error"]))
@click.option("--log-format", default="text", type=click.Choice(["text", "json"]), help="One JSON object a line.")
@click.option("--with-parent", is_flag=True, hidden=True, help="End when standard input ends.")
@cluster_options
def command(
    cluster: ConnectionOptions,
    listen: str,
    topic: str,
    url: str | None,
    login: str,
    tls_certificate: Path | None,
    tls_key: Path | None,
    log_level: str,
    log_format: str,
    with_parent: bool,
) -> None:
    """Run a schema registry with Confluent's REST API until SIGTERM or Ctrl-C, on this broker or on Apache Kafka.

    It keeps everything in the topic _schemas, as Confluent's registry does: either can continue with the other's topic,
    but not while the other one runs. Several of these may run on one cluster: one of them writes, the others forward.

    \b
    Examples:
      oncelog schema-registry --bootstrap-server 127.0.0.1:9092
      oncelog schema-registry -b kafka:9092 --listen 127.0.0.1:8081
      oncelog schema-registry -b kafka:9093 -F admin.properties --listen 0.0.0.0:8081 --login kafka
    """
    from oncelog.schema_registry.formats.parsing import need_registry_packages

    need_registry_packages()
    from oncelog.broker.server.listener_settings import Address
    from oncelog.broker.server.process.log_lines import json_line, log_to_stderr
    from oncelog.schema_registry.serving import bind, check_listening, url_of
    from oncelog.schema_registry.settings import Login, RegistrySettings

    in_json = log_format == "json"
    log_to_stderr(log_level, as_json=in_json)
    settings = RegistrySettings(
        cluster.properties,
        url,
        topic,
        Login(login),
        str(tls_certificate) if tls_certificate is not None else None,
        str(tls_key) if tls_key is not None else None,
    )
    address = Address.parse(listen)
    check_listening(settings, address)
    settings.admin_config()  # refuses settings that are not allowed before the server starts
    with bind(address) as listening:
        where = settings.url or url_of(settings, listening)
        message = f"oncelog schema registry: {where}"
        line = json_line(logging.INFO, message) if in_json else message
        click.echo(json.dumps({"schema_registry": where}) if cluster.as_json else line)
        sys.stdout.flush()
        asyncio.run(_serve(settings, listening, with_parent))


async def _serve(settings: RegistrySettings, listening: socket, with_parent: bool) -> None:
    from oncelog.broker.server.process.loops import on_stop_signals
    from oncelog.cli.programs.console import await_parent
    from oncelog.schema_registry.serving import serve

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    on_stop_signals(loop, ended.set)
    if with_parent:
        threading.Thread(target=await_parent, args=(loop, ended), daemon=True).start()
    await serve(settings, listening, ended)
