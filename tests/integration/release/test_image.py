"""The image is built and run if there is a builder, and checked with hadolint's rules everywhere."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HADOLINT = Path(sys.executable).with_name("hadolint")


def _has_builder() -> bool:
    docker = shutil.which("docker")
    return docker is not None and subprocess.run([docker, "info"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not HADOLINT.exists(), reason="hadolint has no wheel for this system")
def test_the_dockerfile_has_no_finding() -> None:
    ended = subprocess.run(
        [HADOLINT, "--format", "json", ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert json.loads(ended.stdout) == []


@pytest.mark.skipif(not _has_builder(), reason="no container builder answers here")
def test_the_image_starts_a_broker() -> None:
    def docker(*words: str) -> str:
        return subprocess.run(["docker", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    image = docker("build", "--quiet", ".")
    container = docker("run", "--detach", "--rm", image)
    try:
        listed = docker("exec", container, "oncelog", "topics", "create", "t")
        assert listed == "created t"
        assert docker("exec", container, "id", "-u") == "9092"
    finally:
        docker("stop", container)
