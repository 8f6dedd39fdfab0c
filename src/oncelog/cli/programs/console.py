"""``oncelog console``: shows the cluster in a browser."""

from __future__ import annotations

import logging
import os
import secrets
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.options import ConnectionOptions, cluster_options
from oncelog.cli.shared.registry_option import RegistryAccess, registry, registry_option
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_json as json
from oncelog.runtime.packages import need_packages

if TYPE_CHECKING:
    from oncelog.apps.console.console_settings import ConsoleSettings

TOKEN_ENVIRONMENT = "ONCELOG_CONSOLE_TOKEN"
NEEDED = ("starlette", "uvicorn", "jinja2", "fastavro", "jsonpath_rfc9535")


@click.command("console")
@click.option(
    "--listen", default="127.0.0.1:8080", show_default=True, metavar="HOST:PORT", help="Port 0: any free port."
)
@click.option("--allow-changes", is_flag=True, help="Allow pages to change the cluster; without it they only read.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="A host name that browsers may use for the console."
)
@click.option("--shared-login", is_flag=True, help="Visitors act with the credentials of --config and --set.")
@registry_option
@click.option("--log-level", default="warning", type=click.Choice(["debug", "info", "warning", "error"]))
@click.option("--log-format", default="text", type=click.Choice(["text", "json"]), help="One JSON object a line.")
@click.option("--with-parent", is_flag=True, hidden=True, help="End when standard input ends.")
@cluster_options
def command(
    cluster: ConnectionOptions,
    listen: str,
    allow_changes: bool,
    hosts: tuple[str, ...],
    shared_login: bool,
    schema_registry: RegistryAccess,
    log_level: str,
    log_format: str,
    with_parent: bool,
) -> None:
    """Show topics, records with their outcomes, transactions, groups and pipelines in a browser, until Ctrl-C.

    It only reads unless --allow-changes is given. If the broker requires a login with a password, each visitor
    logs in with their own, and may do what the broker allows them. It works on Apache Kafka as on this broker.

    With --schema-registry, keys and values are decoded by their schemas, which have a page too. Every visitor sees
    what the registry shows to the user in its address or in --schema-registry-config.

    \b
    Examples:
      oncelog console --bootstrap-server 127.0.0.1:9092
      oncelog console -b kafka:9092 --listen 127.0.0.1:8081 --allow-changes
      oncelog console -b kafka:9092 --schema-registry http://registry:8081
      oncelog console -b kafka:9093 -X security.protocol=SASL_SSL -X sasl.mechanism=SCRAM-SHA-512
    """
    need_console_packages()
    from oncelog.apps.console.console_settings import ConsoleSettings
    from oncelog.broker.server.listener_settings import Address
    from oncelog.broker.server.process.log_lines import json_line, log_to_stderr

    in_json = log_format == "json"
    log_to_stderr(log_level, as_json=in_json)
    address = Address.parse(listen)
    token = os.environ.get(TOKEN_ENVIRONMENT)
    settings = ConsoleSettings(
        cluster.properties,
        allow_changes,
        shared_login,
        frozenset(hosts),
        token or secrets.token_urlsafe(24),
        schema_registry,
    )
    if schema_registry:
        registry(schema_registry)  # refuses an invalid address or a missing package before the server starts
    settings.admin_config("user", "password")  # refuses contradictory settings before the server starts

    def log_line(line: str) -> str:
        return json_line(logging.INFO, line) if in_json else line

    def announce(url: str) -> None:
        if cluster.as_json:
            click.echo(json.dumps({"console": url, "report_token": settings.report_token}))
        else:
            click.echo(log_line(f"oncelog console: {url}"))
            if not token:
                reported = f"pipelines report to it with {TOKEN_ENVIRONMENT}={settings.report_token}"
                click.echo(log_line(reported), err=True)
        sys.stdout.flush()

    asyncio.run(_serve(settings, address.host, address.port, announce, with_parent))


def need_console_packages() -> None:
    """Check that the packages of the console are installed.

    :raises OncelogError: the extra is not installed.
    """
    need_packages("the console needs", NEEDED, "console")


async def _serve(
    settings: ConsoleSettings, host: str, port: int, announce: Callable[[str], None], with_parent: bool
) -> None:
    from oncelog.apps.console.app import serve
    from oncelog.broker.server.process.loops import on_stop_signals

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    on_stop_signals(loop, ended.set)
    if with_parent:
        threading.Thread(target=await_parent, args=(loop, ended), daemon=True).start()
    await serve(settings, host, port, announce, ended)


def await_parent(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """Set ``ended`` when standard input ends, a pipe from the broker's process, which closes however that process ends.

    The descriptor is read without Python's buffer: this thread would otherwise still hold the buffer's lock when Python
    exits for another reason.
    """
    while os.read(sys.stdin.fileno(), 4096):
        pass
    loop.call_soon_threadsafe(ended.set)
