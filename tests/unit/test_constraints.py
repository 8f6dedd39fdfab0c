"""``constraints.txt``: the versions that ``make setup`` and CI install, on every Python and system that is supported.

``make lock`` writes it after a change of ``pyproject.toml``, ``make lock UPGRADE=1`` with the newest versions.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
PREFIX = "Programming Language :: Python :: 3."
PYTHONS = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if name.startswith(PREFIX)]
SYSTEMS = {"linux": "x86_64", "darwin": "arm64"}


def wanted(extra: str) -> Iterator[Requirement]:
    """What an extra asks for, with what the extras that it names ask for."""
    for text in PROJECT["optional-dependencies"][extra]:
        requirement = Requirement(text)
        if requirement.name == PROJECT["name"]:
            for name in requirement.extras:
                yield from wanted(name)
        else:
            yield requirement


def environments() -> Iterator[dict[str, str]]:
    for python, system in itertools.product(PYTHONS, SYSTEMS):
        yield {
            "python_version": python,
            "python_full_version": f"{python}.9",
            "sys_platform": system,
            "platform_machine": SYSTEMS[system],
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
        }


@pytest.mark.parametrize(
    "environment", [pytest.param(it, id=f"{it['sys_platform']}-{it['python_version']}") for it in environments()]
)
def test_each_requirement_has_one_pinned_version_that_it_accepts(environment: dict[str, str]) -> None:
    pins: dict[str, str] = {}
    for pin in PINS:
        if pin.marker is None or pin.marker.evaluate(environment):
            (specifier,) = pin.specifier
            assert specifier.operator == "==" and "*" not in specifier.version, f"{pin} is no exact version"
            assert pins.setdefault(canonicalize_name(pin.name), specifier.version) == specifier.version
    requirements = [*map(Requirement, PROJECT["dependencies"]), *wanted("dev")]
    assert len(requirements) > 40
    for requirement in requirements:
        if requirement.marker is None or requirement.marker.evaluate(environment):
            version = pins.get(canonicalize_name(requirement.name))
            assert version is not None and version in requirement.specifier, f"make lock: {requirement}, not {version}"


def test_every_development_install_uses_the_constraints() -> None:
    for place in ("tools/setup.sh", "tools/ci_units.sh"):
        assert "--constraint constraints.txt" in (ROOT / place).read_text(), place
