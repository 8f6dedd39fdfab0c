"""The catalogue of planted bugs. ``make mutants`` shows within how many seeds the simulation finds each."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.planting import Mutant

CATALOGUE: Sequence[Mutant] = (
    Mutant(
        "sequences are not checked",
        "log.producer_rules:_out_of_sequence",
        "return a.header.base_sequence != (0 if last == MAX_SEQUENCE else last + 1)",
        "return False",
    ),
    Mutant(
        "a repeated batch is not recognised",
        "log.producer_entry:ProducerStateEntry.duplicate_of",
        "if header.producer_epoch == self.producer_epoch:",
        "if header.producer_epoch != self.producer_epoch:",
    ),
)
