"""``oncelog conformance``: black-box checks of the exactly-once promises of any broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.options import ConnectionOptions, Seconds, cluster_options
from oncelog.cli.shared.output import cleaning_up, progress, remark, show_json, show_table
from oncelog.errors import OncelogError
from oncelog.settings.fields import nearest

if TYPE_CHECKING:
    from oncelog.apps.conformance.registry import Check
    from oncelog.apps.conformance.runner import ConformanceReport


@click.command("conformance")
@click.option("--area", "areas", multiple=True, metavar="NAME", help="Only the checks of this area; may be repeated.")
@click.option("--check", "names", multiple=True, metavar="NAME", help="Only this check; may be repeated.")
@click.option("--list", "only_list", is_flag=True, help="List the checks and run none.")
@click.option(
    "--timeout",
    "timeout_s",
    type=Seconds(0.1),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for what the broker does in the background.",
)
@cluster_options
def command(
    cluster: ConnectionOptions, areas: tuple[str, ...], names: tuple[str, ...], only_list: bool, timeout_s: float
) -> None:
    """Check idempotence, transactions, isolation and groups, share groups too, of any broker that speaks the protocol.

    Sends raw requests, as no client would, to topics, groups and transactional ids that begin with
    oncelog-conformance-; topics and groups are deleted afterwards. What a broker does not offer is distinguished from
    what it does wrongly, and each failed check names the KIP that requires it. Exit status 1 if a check failed.

    \b
    Examples:
      oncelog conformance --bootstrap-server 127.0.0.1:9092
      oncelog conformance --area idempotence --json
    """
    chosen = _chosen(areas, names)
    if only_list:
        _list(cluster.as_json, chosen)
        return
    from oncelog.apps.conformance.registry import cases_of
    from oncelog.apps.conformance.runner import CheckOutcome, run

    cases = cases_of(chosen)
    with cleaning_up(), progress("checks", len(cases)) as advance:
        report = run(
            cluster.admin_settings(), cases, timeout_s=timeout_s, on_result=lambda result: advance(1, result.check.area)
        )
    (_show_json if cluster.as_json else _show)(report, chosen)
    if failed := report.count(CheckOutcome.FAILED):
        raise OncelogError(f"{failed} of {len(report.results)} cases failed")


def _chosen(areas: Sequence[str], names: Sequence[str]) -> list[Check]:
    from oncelog.apps.conformance.registry import AREAS, all_checks

    known = list(dict.fromkeys(AREAS.values()))
    for area in areas:
        if area not in known:
            raise OncelogError(f"there is no area {area!r}{nearest(area, known) or '; they are ' + ', '.join(known)}")
    checks = all_checks()
    for name in names:
        if name not in {check.name for check in checks}:
            raise OncelogError(
                f"there is no check {name!r}{nearest(name, [check.name for check in checks]) or '; see --list'}"
            )
    return [check for check in checks if (not areas or check.area in areas) and (not names or check.name in names)]


def _list(as_json: bool, checks: Sequence[Check]) -> None:
    if as_json:
        show_json(
            [
                {
                    "area": check.area,
                    "check": check.name,
                    "kip": check.kip,
                    "since": check.since or None,
                    "cases": len(check.cases),
                }
                for check in checks
            ]
        )
    else:
        show_table(
            ["AREA", "KIP", "CASES", "CHECK"],
            [(check.area, check.kip, len(check.cases), check.name) for check in checks],
        )


def _show(report: ConformanceReport, checks: Sequence[Check]) -> None:
    from oncelog.apps.conformance.runner import CheckOutcome

    rows: list[Sequence[object]] = []
    for area in [*dict.fromkeys(check.area for check in checks), None]:
        number = sum(area in (None, check.area) for check in checks)
        rows.append([area or "all", number, *(report.count(outcome, area) for outcome in CheckOutcome)])
    show_table(["AREA", "CHECKS", *(outcome.value.upper().replace(" ", "-") for outcome in CheckOutcome)], rows)
    for outcome in (CheckOutcome.FAILED, CheckOutcome.NOT_OFFERED):
        found = [result for result in report.results if result.outcome is outcome]
        if found:
            click.echo(f"\n{outcome.value}:")
        for result in found:
            assumed = (
                f" (where {result.check.assumes})" if outcome is CheckOutcome.FAILED and result.check.assumes else ""
            )
            click.echo(f"  {result.check.kip}  {result.check.area}: {result.name}{assumed}\n      {result.text}")
    for name in report.left_behind:
        remark(f"left behind: {name}")


def _show_json(report: ConformanceReport, checks: Sequence[Check]) -> None:
    show_json(
        {
            "broker": report.broker,
            "nodes": report.nodes,
            "checks": len(checks),
            "results": [
                {
                    "area": result.check.area,
                    "check": result.check.name,
                    "case": {name: str(value) for name, value in result.case.items()},
                    "kip": result.check.kip,
                    "assumes": result.check.assumes or None,
                    "outcome": result.outcome.value,
                    "text": result.text,
                }
                for result in report.results
            ],
            "left_behind": report.left_behind,
        }
    )
