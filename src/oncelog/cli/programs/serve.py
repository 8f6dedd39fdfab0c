"""``oncelog serve``: runs the broker as a process."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from oncelog.broker.server.listener_settings import Address, Listener, parse_listeners
from oncelog.broker.server.opening import DEFAULT_LISTENER, data_folder
from oncelog.broker.server.process.log_lines import json_line, log_to_stderr
from oncelog.broker.server.serve import serve
from oncelog.cli.shared.parameters import PropertiesFile
from oncelog.cli.shared.properties import given_properties
from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json

if TYPE_CHECKING:
    from pathlib import Path


@click.command("serve")
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Also NAME://HOST:PORT; separate several with commas. Default: the property listeners, else 127.0.0.1:9092. "
    "Port 0: any free port.",
)
@click.option("--data", type=click.Path(), help="Folder for all data. Default: log.dirs, else memory.")
@click.option("--config", "-F", type=PropertiesFile(), help="A properties file.")
@click.option(
    "--set", "-X", "assignments", multiple=True, metavar="NAME=VALUE", help="A property of Apache Kafka's broker."
)
@click.option(
    "--add-scram",
    "first_users",
    multiple=True,
    metavar="TEXT|@FILE",
    help="A user for a new data folder: 'SCRAM-SHA-256=[name=alice,password=...]'; @FILE reads it from a file.",
)
@click.option(
    "--nodes",
    type=click.IntRange(1, 9),
    default=1,
    show_default=True,
    help="Number of nodes of a cluster in this one process, on consecutive ports, for tests and for learning.",
)
@click.option("--console", metavar="HOST:PORT", help="Also run the console at this address, in a process of its own.")
@click.option(
    "--console-allow-changes",
    is_flag=True,
    help="Allow the console to change things; without it, the console only reads.",
)
@click.option(
    "--schema-registry",
    metavar="HOST:PORT",
    help="Also run a schema registry at this address of this machine, in a process of its own.",
)
@click.option("--metrics", metavar="HOST:PORT", help="Serve metrics (Prometheus, OpenMetrics) and health over HTTP.")
@click.option(
    "--faults",
    metavar="HOST:PORT",
    help="Accept faults over HTTP at this address of this machine (see oncelog proxy --help).",
)
@click.option("--json", "-J", "as_json", is_flag=True, help="Print the address as JSON.")
@click.option("--log-level", default="warning", type=click.Choice(["debug", "info", "warning", "error"]))
@click.option("--log-format", default="text", type=click.Choice(["text", "json"]), help="One JSON object a line.")
def command(
    listen: str | None,
    data: str | None,
    config: Path | None,
    assignments: tuple[str, ...],
    first_users: tuple[str, ...],
    nodes: int,
    faults: str | None,
    console: str | None,
    console_allow_changes: bool,
    schema_registry: str | None,
    metrics: str | None,
    as_json: bool,
    log_level: str,
    log_format: str,
) -> None:
    """Run the broker until SIGTERM or Ctrl-C.

    SIGHUP rereads --config: settings that may change take effect. Exit status: 0 stopped as asked, 1 could not start or
    stop cleanly, 2 wrong usage, 130 interrupted before it served.

    \b
    Examples:
      oncelog serve --data ./data
      oncelog serve --listen 127.0.0.1:0 --data ./data --set num.partitions=6
      oncelog serve --data ./data --console 127.0.0.1:8080 --schema-registry 127.0.0.1:8081
    """
    in_json = log_format == "json"
    log_to_stderr(log_level, as_json=in_json)
    settings = given_properties(config, assignments)

    def announce(listeners: Sequence[Listener], metrics: Address | None) -> None:
        if as_json:
            addresses: dict[str, list[str]] = {}
            for listener in listeners:
                addresses.setdefault(listener.name, []).append(str(listener.address))
            first = ",".join(addresses[listeners[0].name])
            fields = {
                "listening": first,
                "listeners": {name: ",".join(of_nodes) for name, of_nodes in addresses.items()},
                "data": data,
            }
            fields |= {"metrics": str(metrics)} if metrics is not None else {}
            fields |= {"faults": faulty.address} if faulty is not None else {}
            line = json.dumps(fields)
        else:
            where = f"data in {data}" if data is not None else "data in memory"
            names = [f"{listener.address} ({listener.name})" for listener in listeners]
            line = f"oncelog listens on {', '.join(names) if len(names) > 1 else listeners[0].address}, {where}"
            line += f", metrics on http://{metrics}/metrics" if metrics is not None else ""
            line += f", faults at http://{faulty.address}/faults" if faulty is not None else ""
        click.echo(json_line(logging.INFO, line) if in_json and not as_json else line)
        sys.stdout.flush()
        options = [*["--json"] * as_json, "--log-format", log_format]
        changes = ["--allow-changes"] * console_allow_changes
        if console is not None or schema_registry is not None:
            from oncelog.cli.programs.console_beside import beside

            others.enter_context(beside(schema_registry, console, listeners, settings, options, changes))

    listeners = parse_listeners(listen, settings, DEFAULT_LISTENER)
    data = data_folder(data, settings)
    served = Address.parse(metrics) if metrics is not None else None
    _check_beside(console, console_allow_changes, schema_registry, listeners, settings)

    def reread() -> dict[str, str]:
        return given_properties(config, assignments)

    faulty = None
    with contextlib.ExitStack() as others:
        if faults is not None:
            from oncelog.apps.proxy.http_faults import HttpFaults

            faulty = HttpFaults(Address.parse(faults), data)
            others.callback(faulty.stop)
        serve(
            listeners,
            data,
            settings,
            announce,
            [_from_file(text) for text in first_users],
            nodes,
            served,
            reread,
            faulty,
        )


def _check_beside(
    console: str | None,
    console_allow_changes: bool,
    schema_registry: str | None,
    listeners: Sequence[Listener],
    settings: Mapping[str, str],
) -> None:
    """Check that the console and the schema registry, if requested, can run next to the broker.

    :raises ConfigError: one of them could not.
    """
    if console is not None:
        from oncelog.cli.programs.console_beside import check_console

        check_console(console, listeners, settings)
    elif console_allow_changes:
        raise ConfigError("--console-allow-changes needs --console HOST:PORT: it says what that console may do")
    if schema_registry is not None:
        from oncelog.cli.programs.console_beside import check_registry

        check_registry(schema_registry, listeners, settings)


def _from_file(text: str) -> str:
    """The content of FILE for ``@FILE``, any other text unchanged; a password in a file is not among a process's
    arguments."""
    if not text.startswith("@"):
        return text
    try:
        with open(text[1:], encoding="utf-8-sig") as file:
            return file.read().strip()
    except OSError as error:
        raise ConfigError(f"--add-scram {text} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"--add-scram {text} cannot be read: it is not UTF-8 text") from error
