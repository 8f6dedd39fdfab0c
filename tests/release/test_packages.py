"""What a release is made of: the distributions are built, checked and installed as a user would install them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
FIRST_MINUTE = """
import oncelog

with oncelog.Broker() as broker:
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait("greetings", b"hello")
    servers = broker.bootstrap_servers
    with oncelog.Consumer("greetings", bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        assert consumer.getone().value == b"hello"
"""


def _run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    ended = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=840
    )
    assert ended.returncode == 0, f"{command}:\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git knows, and nothing that was built from them."""
    folder = tmp_path_factory.mktemp("source")
    for name in _run("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def distributions(source: Path) -> dict[str, Path]:
    """The source distribution and the two kinds of wheel made from it."""
    for pure in ("", "1"):
        kinds = ["--sdist", "--wheel"] if pure else ["--wheel"]
        _run(sys.executable, "-m", "build", *kinds, cwd=source, ONCELOG_PURE=pure)
    found = {path.name: path for path in (source / "dist").iterdir()}
    return {
        "sdist": next(path for name, path in found.items() if name.endswith(".tar.gz")),
        "pure": next(path for name, path in found.items() if name.endswith("-py3-none-any.whl")),
        "compiled": next(path for name, path in found.items() if "-abi3-" in name),
    }


def test_metadata_is_what_an_index_takes(distributions: dict[str, Path]) -> None:
    _run(BIN / "twine", "check", "--strict", *distributions.values())
    _run(BIN / "check-wheel-contents", distributions["pure"], distributions["compiled"])


def test_a_wheel_carries_the_licence_and_nothing_for_developers_only(distributions: dict[str, Path]) -> None:
    for kind in ("pure", "compiled"):
        wheel = zipfile.ZipFile(distributions[kind])
        names = wheel.namelist()
        assert any(name.endswith("licenses/LICENSE") for name in names)
        assert any(name.endswith("licenses/NOTICE") for name in names)
        assert not [name for name in names if name.startswith(("tests/", "tools/")) or name.endswith((".c", ".pyx"))]
        compiled = [name for name in names if "/_native" in name and name.endswith(".so")]
        assert len(compiled) == (kind == "compiled")
        assert not any(b".debug_info" in wheel.read(name) for name in compiled)


@pytest.mark.parametrize("kind", ["pure", "compiled", "sdist"])
def test_an_installed_distribution_serves_and_reads(kind: str, distributions: dict[str, Path], tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", distributions[kind], cwd=tmp_path)
    _run(python, "-c", FIRST_MINUTE, cwd=tmp_path)
    version = _run(tmp_path / "venv" / "bin" / "oncelog", "--version", cwd=tmp_path)
    assert ("pure Python" in version) == (kind == "pure"), version
