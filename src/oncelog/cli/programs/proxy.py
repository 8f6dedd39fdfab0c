"""``oncelog proxy``: injects faults in front of any broker, as named on the command line."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import click

from oncelog.apps.proxy.proxy import FaultProxy
from oncelog.broker.faults.control import FaultControl
from oncelog.broker.faults.fault_texts import KINDS, add_fault
from oncelog.broker.server.listener_settings import Address
from oncelog.cli.shared.output import cleaning_up, remark, show_json
from oncelog.cli.shared.parameters import PropertiesFile
from oncelog.cli.shared.properties import given_properties
from oncelog.client.core.config import ClientConfig
from oncelog.runtime import real_json as json

_CONFIG_HELP = "A properties file of a client: how the proxy encrypts and logs in towards the brokers."


@click.command("proxy")
@click.option("--to", "broker", required=True, metavar="HOST:PORT", help="A broker of the cluster behind the proxy.")
@click.option(
    "--listen", default="127.0.0.1:0", metavar="HOST:PORT", help="Where clients connect; port 0: any free port."
)
@click.option("--config", "-F", type=PropertiesFile(), help=_CONFIG_HELP)
@click.option("--set", "-X", "assignments", multiple=True, metavar="NAME=VALUE", help="One such property.")
@click.option(
    "--open", "open_to_all", is_flag=True, help="Do not ask clients for a login even if the proxy itself logs in."
)
@click.option("--fault", "texts", multiple=True, metavar="FAULT", help=f"Faults from the start: {', '.join(KINDS)}.")
@click.option("--control", metavar="HOST:PORT", help="Accept faults over HTTP, from this machine only.")
@click.option(
    "--json", "-J", "as_json", is_flag=True, help="Print the address, and later each injected fault, as JSON."
)
def command(
    broker: str,
    listen: str,
    config: Path | None,
    assignments: tuple[str, ...],
    open_to_all: bool,
    texts: tuple[str, ...],
    control: str | None,
    as_json: bool,
) -> None:
    """Run a proxy that loses, delays, repeats or refuses the requests that faults name, until Ctrl-C.

    A fault has a name, an API, and conditions on the request: topic, partition, transactional_id, group, client_id,
    version; times=N (or always), skip=N, probability=P.

    Clients speak plain text to the proxy; their own logins (SASL) pass through. With --set security.protocol=SSL the
    proxy connects to a listener that encrypts. If the proxy has a login of its own, or a client certificate, it listens
    on this machine only, and its clients need the login that it generates and prints when it starts.

    \b
    Examples:
      oncelog proxy --to 127.0.0.1:9092 --listen 127.0.0.1:9192 --fault "lose_answer Produce topic=orders"
      oncelog proxy --to 127.0.0.1:9092 --fault "delay 200 Fetch" --fault "answer_error EndTxn NOT_COORDINATOR"
      oncelog proxy --to kafka.example.com:9093 --config login.properties --fault "lose_answer EndTxn"
    """
    proxy = FaultProxy(broker, listen=listen, upstream=_upstream(broker, config, assignments), open_to_all=open_to_all)
    for text in texts:
        add_fault(proxy.faults, text)
    steering = None
    with cleaning_up(), proxy:
        try:
            if control is not None:
                address = Address.parse(control)
                steering = FaultControl(proxy.faults, address.host, address.port)
            _announce(proxy, broker, steering, as_json)
            threading.Event().wait()
        finally:
            if steering is not None:
                steering.stop()
            _show_struck(proxy.faults.report(), as_json)


def _announce(proxy: FaultProxy, broker: str, steering: FaultControl | None, as_json: bool) -> None:
    place = {
        "listening": proxy.bootstrap_servers,
        "to": broker,
        "control": steering.address if steering else None,
        "client_properties": proxy.client_properties,
    }
    line = f"oncelog proxy listens on {proxy.bootstrap_servers} for {broker}"
    if steering is not None:
        line += f", faults at http://{steering.address}/faults"
    for name, value in proxy.client_properties.items():
        line += f"\n  clients need {name}={value}"
    click.echo(json.dumps(place) if as_json else line)
    sys.stdout.flush()


def _show_struck(struck: list[str], as_json: bool) -> None:
    if as_json:
        show_json({"struck": struck})
    else:
        for line in struck:
            remark(line)


def _upstream(broker: str, config: Path | None, assignments: tuple[str, ...]) -> ClientConfig | None:
    given = given_properties(config, assignments)
    return ClientConfig.from_properties({**given, "bootstrap.servers": broker}) if given else None
