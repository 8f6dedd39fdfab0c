"""Nothing that tests have started outlives them, however they end."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="children are known by pidfd_open, which is Linux's"
)

WITH_GRANDCHILD = """
import json, subprocess, sys
from pathlib import Path
from tests.support.children import ends_with_us

child = subprocess.Popen(["sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, start_new_session=True)
ends_with_us(child.pid, Path(sys.argv[1]))
print(json.dumps([child.pid, int(child.stdout.readline())]), flush=True)
input()
"""
WITH_FAMILY = """
import json, subprocess, sys
from tests.support.children import of_family

one, other = [
    "import subprocess, sys; print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid, flush=True)" + rest
    for rest in ("", "; sys.stdin.read()")
]
children = [
    subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=of_family(),
        start_new_session=True)
    for program in (one, other)
]
pids = [int(child.stdout.readline()) for child in children]
children[0].wait()
print(json.dumps([children[1].pid, *pids]), flush=True)
input()
"""
WITH_KAFKA = """
import json
from tests.support.apache_kafka import ApacheKafka

kafka = ApacheKafka().start()
print(json.dumps([kafka.pid, str(kafka.folder)]), flush=True)
input()
"""


@contextmanager
def killed(program: str, *arguments: str) -> Iterator[list[object]]:
    """What the program prints before SIGKILL ends it after the block."""
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()


def wait_for_end(*descriptors: int) -> None:
    for descriptor in descriptors:
        ready, _, _ = select.select([descriptor], [], [], 120)
        os.close(descriptor)
        assert ready, "it still runs"


def test_children_and_grandchildren_end_with_a_killed_process(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with killed(WITH_GRANDCHILD, str(folder)) as pids:
        family = [os.pidfd_open(pid) for pid in pids if isinstance(pid, int)]
    assert len(family) == 2
    wait_for_end(*family)


def test_all_processes_of_a_tree_end_whatever_their_session_and_even_if_some_have_ended() -> None:
    with killed(WITH_FAMILY) as pids:
        family = [os.pidfd_open(pid) for pid in pids if isinstance(pid, int)]
    assert len(family) == 3
    wait_for_end(*family)


@pytest.mark.kafka
def test_apache_kafka_ends_with_the_tests_that_started_it(kafka_jars: Path) -> None:
    with killed(WITH_KAFKA) as (pid, folder):
        assert isinstance(pid, int)
        assert Path(str(folder)).is_dir()
        node = os.pidfd_open(pid)
    wait_for_end(node)
