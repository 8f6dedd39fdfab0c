"""Which Java counts as usable, and what a user without one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.spark.java import JavaMissing, find_java, parse_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "26" 2026-03-17', 26),
        ("bash: java: command not found", None),
    ],
)
def test_the_java_release_is_read_from_the_output_of_java(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def fake_java(folder: Path, version: str) -> Path:
    path = folder / "java"
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    path.chmod(0o755)
    return path


def test_the_java_in_java_home_takes_precedence_over_the_path(tmp_path: Path) -> None:
    (tmp_path / "home" / "bin").mkdir(parents=True)
    wanted = fake_java(tmp_path / "home" / "bin", "21.0.1")
    fake_java(tmp_path, "17.0.1")
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path)}) == str(wanted)


def test_a_missing_java_is_reported_with_the_command_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing, match=r"there is no java on this machine: .*apt-get install openjdk-17"):
        find_java({"PATH": str(tmp_path)})


def test_an_old_java_is_refused_with_its_path_and_version(tmp_path: Path) -> None:
    path = fake_java(tmp_path, "11.0.2")
    with pytest.raises(JavaMissing, match=f"{path} is version 11"):
        find_java({"PATH": str(tmp_path)})


def test_the_refusal_names_a_java_home_without_java(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing, match=f"JAVA_HOME is {tmp_path}"):
        find_java({"JAVA_HOME": str(tmp_path)})
