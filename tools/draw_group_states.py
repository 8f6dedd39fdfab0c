"""Draw the group coordinator's states and rules into ``docs/reference/group-states.md``.

With ``--check``: write nothing, and exit with 1 and a message if the page differs from the tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from oncelog.broker.coordinator.group.classic import classic_rules
from oncelog.broker.coordinator.group.consumer import consumer_rules, reconcile
from oncelog.broker.coordinator.group.consumer.consumer_rules import EpochClaim, MembershipStatus
from oncelog.broker.coordinator.group.states import (
    CLASSIC_TRANSITIONS,
    CONSUMER_STATES,
    MEMBER_STATES,
    ClassicState,
)
from oncelog.errors import Error

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "group-states.md"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    header = list(header)
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def by_rule(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each rule with the states in which it applies."""
    states: dict[str, list[str]] = {}
    for state, rule in rows:
        states.setdefault(rule, []).append(state)
    return ((", ".join(names), rule) for rule, names in states.items())


def transitions() -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield f"    [*] --> {ClassicState.EMPTY.value}"
    for before, following in CLASSIC_TRANSITIONS.items():
        for after, cause in following.items():
            if after is not ClassicState.DEAD:
                yield f"    {before.value} --> {after.value}: {cause}"
    yield "```"
    yield ""
    yield "Every state leads to Dead:"
    yield ""
    for before, following in CLASSIC_TRANSITIONS.items():
        yield f"- {before.value}: {following[ClassicState.DEAD]}"


def classic_requests() -> Iterator[str]:
    for event, row in classic_rules.RULES.items():
        summary = (event.__doc__ or "").strip().split("\n")[0]
        yield f"### {event.__name__}"
        yield ""
        yield summary
        yield ""
        rows = [(state.value, row[state].label) for state in ClassicState]
        rows = [entry for entry in rows if entry != ("Dead", "COORDINATOR_NOT_AVAILABLE (15)")]
        yield from table(("State", "What follows"), by_rule(rows))
        yield ""


def heartbeats() -> Iterator[str]:
    rows: list[list[str]] = []
    for standing in MembershipStatus:
        row = [standing.value]
        for claim in EpochClaim:
            verdict = consumer_rules.HEARTBEAT_RULES[standing][claim]
            error = verdict.value
            row.append(f"{error.name} ({error.value})" if isinstance(error, Error) else str(error))
        rows.append(row)
    yield from table(("The sender is", *(claim.value for claim in EpochClaim)), rows)


def page() -> str:
    lines = [
        "# States and rules of groups",
        "",
        "Generated from the code by `tools/draw_group_states.py`; do not edit.",
        "",
        "## Groups of the classic protocol",
        "",
        "From `CLASSIC_TRANSITIONS` in `oncelog.broker.coordinator.group.states`.",
        "",
        *transitions(),
        "",
        "## Requests to groups of the classic protocol",
        "",
        "From `RULES` in `oncelog.broker.coordinator.group.classic.classic_rules`. A member is checked before its",
        "group's state: UNKNOWN_MEMBER_ID (25), FENCED_INSTANCE_ID (82) if another process has its instance id, and",
        "ILLEGAL_GENERATION (22). A Dead group answers COORDINATOR_NOT_AVAILABLE (15), if nothing else is said.",
        "",
        *classic_requests(),
        "## Groups of the consumer protocol",
        "",
        "The first condition that holds, from `CONSUMER_STATES`.",
        "",
        *table(("State", "When"), ((state.value, meaning) for state, meaning in CONSUMER_STATES.items())),
        "",
        "### Heartbeats",
        "",
        "From `HEARTBEAT_RULES` in `oncelog.broker.coordinator.group.consumer.consumer_rules`, by the member epoch in",
        "the request.",
        "",
        *heartbeats(),
        "",
        "### Members",
        "",
        "From `MEMBER_STATES` and from `RULES` in `oncelog.broker.coordinator.group.consumer.reconcile`.",
        "",
        *table(
            ("State", "Meaning", "At a heartbeat"),
            ((state.name, meaning, reconcile.RULES[state].label) for state, meaning in MEMBER_STATES.items()),
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    drawn = page()
    if not check:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(drawn, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != drawn:
        sys.stderr.write(f"{PAGE} is not current: run tools/draw_group_states.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
