"""``oncelog cluster``: shows the nodes, and on request the leader of each partition."""

from __future__ import annotations

import click

from oncelog.cli.shared.options import ConnectionOptions, cluster_options
from oncelog.cli.shared.output import counted, show_json, show_table


@click.command("cluster")
@click.option("--partitions", is_flag=True, help="Also show all topics' partitions, with leader and replicas.")
@cluster_options
def command(cluster: ConnectionOptions, partitions: bool) -> None:
    """Show the cluster: its id, its nodes, its controller, and with --partitions all topics.

    \b
    Examples:
      oncelog cluster
      oncelog cluster --partitions -b localhost:9092
    """
    with cluster.admin() as admin:
        found = admin.describe_cluster()
        topics = admin.describe_topics(admin.list_topics(internal=True)) if partitions else []
    nodes = [
        {
            "node": node.node_id,
            "address": f"{node.host}:{node.port}",
            "rack": node.rack,
            "controller": node.node_id == found.controller_id,
        }
        for node in found.nodes
    ]
    rows = [
        {
            "topic": topic.name,
            "partition": item.partition,
            "leader": item.leader if item.leader >= 0 else None,
            "replicas": list(item.replicas),
            "isr": list(item.isr),
        }
        for topic in topics
        for item in topic.partitions
    ]
    if cluster.as_json:
        shown = {"cluster_id": found.cluster_id, "nodes": nodes}
        show_json({**shown, "partitions": rows} if partitions else shown)
        return
    click.echo(f"cluster {found.cluster_id}, {counted(len(nodes), 'node')}")
    show_table(
        ["NODE", "ADDRESS", "RACK", "CONTROLLER"],
        [[n["node"], n["address"], n["rack"], "yes" if n["controller"] else "no"] for n in nodes],
    )
    if partitions:
        show_table(
            ["TOPIC", "PARTITION", "LEADER", "REPLICAS", "ISR"],
            [[r["topic"], r["partition"], r["leader"], _ids(r["replicas"]), _ids(r["isr"])] for r in rows],
        )


def _ids(numbers: object) -> str:
    return " ".join(map(str, numbers)) if isinstance(numbers, list) else ""
