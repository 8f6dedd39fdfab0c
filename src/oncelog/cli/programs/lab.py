"""``oncelog lab``: runs flows of producers, transactions and readers against a real broker, describes them step by step
and draws them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.options import ConnectionOptions, optional_cluster_options
from oncelog.cli.shared.output import check_writable, cleaning_up, progress, remark, show_json, show_table
from oncelog.errors import OncelogError
from oncelog.settings.fields import nearest

if TYPE_CHECKING:
    from oncelog.apps.lab.flows import Flow
    from oncelog.apps.lab.trace import Trace
    from oncelog.client.core.config import AdminConfig

ALL = "all"


@click.command("lab")
@click.argument("names", nargs=-1, metavar="[FLOW]...")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also draw the diagrams, into a page in this file.",
)
@optional_cluster_options
def command(cluster: ConnectionOptions, names: tuple[str, ...], html: Path | None) -> None:
    """Run a flow; print what went over the wire, with producer ids, epochs and sequences.

    Without FLOW, it lists the flows; "all" runs each of them. A flow runs on a broker of its own, or through a
    fault proxy on the cluster of --bootstrap-server, on a topic that is deleted afterwards. Exit status 1 if a promise
    did not hold.

    \b
    Examples:
      oncelog lab acks-lost
      oncelog lab all --html talk.html
      oncelog lab commit zombie --bootstrap-server 127.0.0.1:9092
    """
    from oncelog.apps.lab.flows import FLOWS

    if not names:
        _list(cluster.as_json, list(FLOWS.values()))
        return
    chosen = _chosen(names)
    if html is not None:
        check_writable("--html", html)
    traces = _carry_out(chosen, cluster, skip_impossible=ALL in names)
    from oncelog.apps.lab.page import write_page
    from oncelog.apps.lab.trace import as_json

    if html is not None:
        write_page(traces, html)
    if cluster.as_json:
        show_json({"flows": [as_json(trace) for trace in traces], "page": None if html is None else str(html)})
    elif html is not None:
        click.echo(f"drawn in {html}")
    broken = [f"{trace.name}: {promise.text}" for trace in traces for promise in trace.promises if not promise.held]
    if broken:
        raise OncelogError("did not hold: " + "; ".join(broken))


def _list(as_json: bool, flows: list[Flow]) -> None:
    if as_json:
        show_json([{"flow": flow.name, "title": flow.title, "lesson": flow.lesson} for flow in flows])
    else:
        show_table(["FLOW", "WHAT HAPPENS"], [(flow.name, flow.title) for flow in flows])


def _chosen(names: tuple[str, ...]) -> list[Flow]:
    from oncelog.apps.lab.flows import FLOWS

    for name in names:
        if name != ALL and name not in FLOWS:
            raise OncelogError(f"there is no flow {name!r}{nearest(name, FLOWS) or '; they are ' + ', '.join(FLOWS)}")
    return [flow for flow in FLOWS.values() if flow.name in names or ALL in names]


def _carry_out(flows: list[Flow], cluster: ConnectionOptions, *, skip_impossible: bool) -> list[Trace]:
    """Run the flows, print the trace of each as soon as it has ended, and return all traces. With ``skip_impossible``,
    flows that cannot run on this cluster are left out."""
    from oncelog.apps.lab.flow_context import LabError
    from oncelog.apps.lab.flows import run
    from oncelog.apps.lab.trace import as_lines

    there = _cluster(cluster)
    traces = []
    with cleaning_up(), progress("flows", len(flows)) as advance:
        for flow in flows:
            advance(0, f"{flow.name}: {flow.title}")
            try:
                trace = run(flow, there)
            except LabError as error:
                if not skip_impossible:
                    raise
                remark(f"{flow.name} is left out: {error}")
            else:
                traces.append(trace)
                if not cluster.as_json:
                    click.echo("\n".join(as_lines(trace)) + "\n")
            advance(1, "")
    return traces


def _cluster(cluster: ConnectionOptions) -> AdminConfig | None:
    if "bootstrap.servers" in cluster.properties:
        return cluster.admin_settings()
    if cluster.properties:
        raise OncelogError(f"{', '.join(cluster.properties)}: settings of a client need --bootstrap-server")
    return None
