"""What becomes of a dead letter."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest

from oncelog.apps.redrive.dead_letters import (
    ATTEMPTS_HEADER,
    DeadLetter,
    DeadLetterOutcome,
    Headers,
    Plan,
    RedriveError,
)

ORIGIN: Headers = (
    ("oncelog.error", b"the value is no JSON"),
    ("oncelog.topic", b"orders"),
    ("oncelog.partition", b"2"),
    ("oncelog.offset", b"17"),
)
FIRST = (ATTEMPTS_HEADER, b"1")


@dataclass(frozen=True)
class Stored:
    headers: Headers = ORIGIN
    topic: str = "orders-dead"
    partition: int = 0
    offset: int = 3
    key: bytes | None = b"k"
    value: bytes | None = b"{"


def sent(plan: Plan, stored: Stored) -> DeadLetter:
    outcome, dead_letter = plan.decide(stored)
    assert outcome is DeadLetterOutcome.SENT
    assert dead_letter is not None
    return dead_letter


def test_a_dead_letter_is_restored_and_its_attempt_counted() -> None:
    dead_letter = sent(Plan(), Stored((("trace", b"1"), ("none", None), *ORIGIN)))
    assert dead_letter == DeadLetter(
        "orders", 2, b"k", b"{", (("trace", b"1"), ("none", None), FIRST), "the value is no JSON", 0
    )


def test_a_second_attempt_replaces_the_attempt_count_of_the_dead_letter() -> None:
    dead_letter = sent(Plan(), Stored((("a", b"1"), FIRST, *ORIGIN)))
    assert dead_letter.headers == (("a", b"1"), (ATTEMPTS_HEADER, b"2"))
    assert dead_letter.attempts == 1


def test_a_dead_letter_of_a_dead_letter_is_sent_back_as_the_original_dead_letter() -> None:
    """A pipeline that reads dead letters has dead letters itself: only the last headers are its own."""
    outer = (("oncelog.error", b"x"), ("oncelog.topic", b"orders-dead"), ("oncelog.partition", b"0"))
    dead_letter = sent(Plan(), Stored((*ORIGIN, *outer, ("oncelog.offset", b"3"))))
    assert (dead_letter.topic, dead_letter.partition) == ("orders-dead", 0)
    assert dead_letter.headers == (*ORIGIN, FIRST)


def test_a_dead_letter_sent_to_another_topic_gets_its_partition_by_key() -> None:
    dead_letter = sent(Plan(to="repaired"), Stored())
    assert (dead_letter.topic, dead_letter.partition, dead_letter.headers) == ("repaired", None, (FIRST,))
    assert sent(Plan(to="repaired"), Stored(())).topic == "repaired"


@pytest.mark.parametrize(
    ("plan", "outcome"),
    [
        (Plan(where=(("a", b"1"),)), DeadLetterOutcome.SENT),
        (Plan(where=(("a", b"2"),)), DeadLetterOutcome.SENT),
        (Plan(where=(("a", b"1"), ("b", b"1"))), DeadLetterOutcome.PASSED),
        (Plan(where=(("a", b""),)), DeadLetterOutcome.PASSED),
        (Plan(error="no JSON"), DeadLetterOutcome.SENT),
        (Plan(error="late"), DeadLetterOutcome.PASSED),
        (Plan(error="no JSON", where=(("b", b"1"),)), DeadLetterOutcome.PASSED),
    ],
)
def test_dead_letters_must_match_all_conditions(plan: Plan, outcome: DeadLetterOutcome) -> None:
    found, dead_letter = plan.decide(Stored((("a", b"1"), ("a", b"2"), ("b", None), *ORIGIN)))
    assert found is outcome
    assert (dead_letter is None) == (outcome is DeadLetterOutcome.PASSED)


def test_an_unselected_dead_letter_is_not_parsed() -> None:
    assert Plan(error="late").decide(Stored((("oncelog.partition", b"x"),))) == (DeadLetterOutcome.PASSED, None)


@pytest.mark.parametrize(
    ("attempts", "outcome"),
    [(b"2", DeadLetterOutcome.SENT), (b"3", DeadLetterOutcome.PARKED), (b"4", DeadLetterOutcome.PARKED)],
)
def test_a_dead_letter_is_parked_unchanged_after_its_attempts(attempts: bytes, outcome: DeadLetterOutcome) -> None:
    stored = Stored(((ATTEMPTS_HEADER, attempts), *ORIGIN))
    found, dead_letter = Plan(max_attempts=3, parking="parked").decide(stored)
    assert found is outcome
    if outcome is DeadLetterOutcome.PARKED:
        assert dead_letter == DeadLetter("parked", None, b"k", b"{", stored.headers)


def test_a_transform_changes_or_skips_a_dead_letter() -> None:
    seen = []

    def repaired(dead_letter: DeadLetter) -> DeadLetter | None:
        seen.append(dead_letter)
        return None if dead_letter.key is None else replace(dead_letter, value=b"{}", headers=(("by", b"me"),))

    plan = Plan(transform=repaired)
    dead_letter = sent(plan, Stored((FIRST, *ORIGIN)))
    assert (dead_letter.value, dead_letter.headers) == (b"{}", (("by", b"me"), (ATTEMPTS_HEADER, b"2")))
    assert plan.decide(Stored(key=None)) == (DeadLetterOutcome.SKIPPED, None)
    assert seen[0] == DeadLetter("orders", 2, b"k", b"{", (), "the value is no JSON", 1)


def failing(dead_letter: DeadLetter) -> DeadLetter:
    raise KeyError("currency")


@pytest.mark.parametrize(
    ("plan", "headers", "printed"),
    [
        (Plan(), (), "orders-dead-0:3 has no header oncelog.topic"),
        (Plan(), (("oncelog.topic", None),), "no header oncelog.topic"),
        (Plan(), (("oncelog.topic", b"t"), ("oncelog.partition", b"-1")), "oncelog.partition of dead letter .* b'-1'"),
        (Plan(), ((ATTEMPTS_HEADER, b"1" * 5000), *ORIGIN), "oncelog.attempts of dead letter orders-dead-0:3"),
        (Plan(transform=failing), ORIGIN, "failed at dead letter orders-dead-0:3: KeyError: 'currency'"),
        (Plan(transform=lambda dead_letter: dead_letter.value), ORIGIN, "returned bytes for"),  # type: ignore[arg-type,return-value]
    ],
)
def test_a_dead_letter_that_cannot_be_sent_back_is_refused_and_the_error_says_why(
    plan: Plan, headers: Headers, printed: str
) -> None:
    with pytest.raises(RedriveError) as caught:
        plan.decide(Stored(headers))
    assert re.search(printed, str(caught.value))


def test_a_selection_id_is_equal_only_for_the_same_selection() -> None:
    one = Plan(where=(("a", b"1"), ("b", b"2")), error="x")
    assert one.selection == Plan(to="t", where=(("b", b"2"), ("a", b"1")), error="x", transform=failing).selection
    others = [Plan(), Plan(error="x"), Plan(error=""), Plan(where=(("a", b"1"),), error="x")]
    assert len({one.selection, *(other.selection for other in others)}) == 5
    assert len(Plan(error="x" * 9000).selection) < 4096
