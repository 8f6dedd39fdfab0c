"""``oncelog serve``: the broker as a process."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import click

from oncelog.cli.properties import given_properties
from oncelog.server.opening import Address, place_of
from oncelog.server.serve import serve


@click.command("serve")
@click.option(
    "--listen", metavar="HOST:PORT", help="Default: the property listeners, else 127.0.0.1:9092. Port 0: a free one."
)
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder that keeps everything; default: log.dirs, else memory."
)
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A properties file.")
@click.option("--set", "assignments", multiple=True, metavar="NAME=VALUE", help="A property of Apache Kafka's broker.")
@click.option("--json", "as_json", is_flag=True, help="Say where it listens as JSON.")
@click.option("--log-level", default="warning", type=click.Choice(["debug", "info", "warning", "error"]))
def command(
    listen: str | None,
    data: Path | None,
    config: Path | None,
    assignments: tuple[str, ...],
    as_json: bool,
    log_level: str,
) -> None:
    """Run the broker until SIGTERM or Ctrl-C.

    \b
    Examples:
      oncelog serve --data ./data
      oncelog serve --listen 127.0.0.1:0 --data ./data --set num.partitions=6
    """
    logging.basicConfig(
        level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    settings = given_properties(config, assignments)

    def announce(address: Address) -> None:
        if as_json:
            line = json.dumps({"listening": str(address), "data": str(data) if data else None})
        else:
            where = f"data in {data}" if data else "data in memory"
            line = f"oncelog listens on {address}, {where}"
        click.echo(line)
        sys.stdout.flush()

    address, data = place_of(listen, data, settings)
    serve(address, data, settings, announce)
