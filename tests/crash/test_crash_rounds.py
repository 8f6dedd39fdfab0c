"""Twenty rounds of the crash command: kill, damage, restart and proof under mixed load.

``python -m tests.support.crash_rounds --rounds 500`` runs more, with other seeds.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.crash_rounds.rounds import Figures, run_rounds

pytestmark = pytest.mark.crash

ROUNDS = 20


def test_nothing_acknowledged_is_lost_or_doubled_over_twenty_crashes(tmp_path: Path) -> None:
    figures = Figures()
    seed = random.SystemRandom().randrange(1_000_000)
    run_rounds(ROUNDS, seed, tmp_path, figures, lambda: None, rounds_a_folder=10)
    assert figures.rounds == ROUNDS
    assert figures.kills + figures.clean_stops == ROUNDS
    assert figures.clients["committed"] > ROUNDS, figures
    assert figures.clients["aborted"] > 0, figures
    assert figures.visible_records > 100 * ROUNDS, figures
