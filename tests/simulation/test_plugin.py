"""The marker ``oncelog_simulation`` as its users meet it: their test file, run in a separate process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = """
import asyncio

import pytest

from oncelog.client.aio import Producer

seen = []

@pytest.fixture
def topic():
    return "t"

@pytest.mark.oncelog_simulation(seeds=4, nodes=3)
async def test_each_seed_has_a_world_of_its_own(oncelog_simulation, topic):
    async with Producer(bootstrap_servers=oncelog_simulation.bootstrap_servers) as producer:
        stored = await producer.send_and_wait(topic, b"x")
    await asyncio.sleep(600)
    seen.append((oncelog_simulation.seed, stored.offset))

def test_they_were_all_run():
    assert seen == [(0, 0)] * 3 + [(1, 0), (2, 0), (3, 0)]  # the first one twice more, for its fingerprint

@pytest.mark.oncelog_simulation(seed=4)
async def test_unknown_option(oncelog_simulation):
    pass

@pytest.mark.oncelog_simulation
def test_no_coroutine(oncelog_simulation):
    pass

def test_without_the_marker(oncelog_simulation):
    pass

@pytest.mark.oncelog_simulation(faults=["kill_brocker"])
async def test_unknown_trouble(oncelog_simulation):
    pass
"""


def test_a_marked_test_runs_once_for_each_seed_and_misuse_is_reported(tmp_path: Path) -> None:
    (tmp_path / "test_users.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_users.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    reported = ended.stdout
    assert "2 passed" in reported, reported
    assert "takes seeds, first, nodes, settings, faults, calm_s, limit_s, network by name, not seed" in reported
    assert "test_no_coroutine is not a coroutine: a simulation runs 'async def' tests" in reported
    assert "the fixture oncelog_simulation needs the marker of that name" in reported
    assert "there is no fault 'kill_brocker'" in reported
