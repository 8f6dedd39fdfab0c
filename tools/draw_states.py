"""``tools/draw_states.py [--check]``: write ``docs/reference/transaction-states.md`` from the rules, or verify it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from oncelog.coordinator.transaction.events import (
    AddPartitions,
    Disown,
    EndTxn,
    EndTxnAndBump,
    Event,
    Expire,
    InitProducerId,
    MarkersWritten,
    Timeout,
    VerifyPartitions,
)
from oncelog.coordinator.transaction.rule_parts import IGNORE, IMPOSSIBLE
from oncelog.coordinator.transaction.rules import RULES, decide
from oncelog.coordinator.transaction.states import TransactionState, Txn
from oncelog.types import ProducerIdAndEpoch, TopicPartition

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "transaction-states.md"

TITLES: dict[type[Event], str] = {
    InitProducerId: "InitProducerId",
    AddPartitions: "AddPartitionsToTxn, AddOffsetsToTxn",
    VerifyPartitions: "AddPartitionsToTxn, verify only",
    EndTxn: "EndTxn 0-4",
    EndTxnAndBump: "EndTxn 5",
    Timeout: "timeout sweep",
    MarkersWritten: "all markers written",
    Expire: "expiry sweep",
    Disown: "start after a power failure: a partition knows more than the coordinator",
}

OWNER = ProducerIdAndEpoch(1, 5)
PARTITION = TopicPartition("t", 0)
SAMPLES: tuple[tuple[str, Event], ...] = (
    ("InitProducerId", InitProducerId("id", 1, fresh_producer_id=2)),
    ("add partitions", AddPartitions(OWNER, frozenset({PARTITION}))),
    ("EndTxn commit", EndTxn(OWNER, True)),
    ("EndTxn abort", EndTxn(OWNER, False)),
    ("EndTxn 5 abort", EndTxnAndBump(OWNER, False)),
    ("timeout", Timeout()),
    ("markers written", MarkersWritten()),
    ("expiry", Expire(0)),
)
"""One event of each kind that moves an id from state to state, with how an arrow names it."""

INTRODUCTION = """# States of a transactional id

Made by `python tools/draw_states.py` from the tables in `oncelog.coordinator.transaction.rules`; do not edit.

The coordinator keeps one state for each `transactional.id`. An arrow is a record in `__transaction_state`. `Dead` is
an id that is not known: never seen, or expired.
"""

LEGEND = """## What every event does in every state

A number in brackets is the error code of the answer. `owner:` stands for two checks that come first: another producer
id is refused with INVALID_PRODUCER_ID_MAPPING (49), another epoch with PRODUCER_FENCED (90), which EndTxn,
AddPartitionsToTxn and AddOffsetsToTxn below version 2 and InitProducerId below version 4 call INVALID_PRODUCER_EPOCH
(47). `repeated:` is EndTxn 5 with the epoch before, as a client sends it that did not get the answer.

Where the answer is CONCURRENT_TRANSACTIONS (51) because markers are being written, the request first waits for them
for a moment, and is decided again when they are there.
"""


def page() -> str:
    lines = [INTRODUCTION, "```mermaid", "stateDiagram-v2"]
    lines += [f"    {arrow}" for arrow in arrows()]
    lines += ["```", "", LEGEND]
    for event, table in RULES.items():
        lines += [f"### {TITLES[event]}", "", "| state | rule |", "|---|---|"]
        for state in TransactionState:
            if table[state] is not IMPOSSIBLE and table[state] is not IGNORE:
                lines.append(f"| {state.label} | {table[state].text} |")
        lines.append("")
    return "\n".join(lines)


def arrows() -> Iterator[str]:
    """The transitions that the rules make, each once, with the events that make it."""
    found: dict[tuple[str, str], list[str]] = {}
    for state in TransactionState:
        if state is TransactionState.PREPARE_EPOCH_FENCE:
            continue
        live = state not in {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
        txn = Txn("id", *OWNER, 0, state, frozenset({PARTITION}) if live else frozenset(), start_ms=0, last_update_ms=0)
        for name, event in SAMPLES:
            if RULES[type(event)][state] is IMPOSSIBLE:
                continue
            decision = decide(None if state is TransactionState.DEAD else txn, event, 10)
            if decision.value is not None:
                found.setdefault((state.label, decision.value.state.label), []).append(name)
            elif decision.forget:
                found.setdefault((state.label, TransactionState.DEAD.label), []).append(name)
    for (before, after), names in found.items():
        yield f"{before} --> {after}: {', '.join(names)}"


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        if PAGE.exists() and PAGE.read_text() == page():
            return 0
        sys.stderr.write(f"{PAGE} is not what the rules say; run: python tools/draw_states.py\n")
        return 1
    if arguments:
        sys.stderr.write("usage: python tools/draw_states.py [--check]\n")
        return 2
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
