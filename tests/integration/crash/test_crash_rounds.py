"""Rounds of the crash command: kill, damage, restart and proof under mixed load.

``python -m tests.support.crash_rounds --rounds 500`` runs more, with other seeds.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.crash_rounds.rounds import Figures, run_rounds

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("rounds", [8, pytest.param(100, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])])
def test_over_crashes_no_acknowledged_record_is_lost_or_duplicated(tmp_path: Path, rounds: int) -> None:
    figures = Figures()
    seed = random.SystemRandom().randrange(1_000_000)
    run_rounds(rounds, seed, tmp_path, figures, lambda: None, rounds_a_folder=max(4, rounds // 10))
    assert figures.rounds == rounds
    assert figures.kills + figures.clean_stops == rounds
    assert figures.clients["committed"] > rounds, figures
    assert figures.clients["aborted"] > 0, figures
    assert figures.visible_records > 100 * rounds, figures
