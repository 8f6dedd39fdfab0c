"""What a release consists of: the distributions are built, checked and installed as a user would install them.

The README's two programs run as they stand, in environments that have what the README installs and nothing else.
"""

from __future__ import annotations

import email
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import oncelog
from tests.support.children import of_family
from tests.support.shared_kafka import RunningKafka

ROOT = Path(__file__).parents[3]
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

BUILD = """
import sys

from setuptools import build_meta

folder, *kinds = sys.argv[1:]
for kind in kinds:
    getattr(build_meta, f"build_{kind}")(folder)
"""


def _run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    ended = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=840
    )
    assert ended.returncode == 0, f"{command}:\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def _environment(folder: Path, *packages: str) -> Path:
    """The Python of a new virtual environment with these packages and their dependencies, but without pip.

    They are installed by uv, which keeps what it has downloaded; what it has to compile is compiled without
    optimization, to save time.
    """
    venv.create(folder)
    python = folder / "bin" / "python"
    _run(BIN / "uv", "pip", "install", "--quiet", "--python", python, *packages, cwd=folder, CFLAGS="-O0")
    return python


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
def distributions(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The source distribution and the two kinds of wheel, built with what ``pyproject.toml`` requires.

    Compiled without optimization, to save time; a dry run of a release, in ``make soak``, compiles what is released.
    """
    with (ROOT / "pyproject.toml").open("rb") as file:
        builder = _environment(tmp_path_factory.mktemp("builder"), *tomllib.load(file)["build-system"]["requires"])
    _run(builder, "-c", BUILD, "dist", "wheel", cwd=source, CFLAGS="-O0")
    _run(builder, "-c", BUILD, "dist", "sdist", "wheel", cwd=source, ONCELOG_PURE="1")
    for built in (source / "build").glob("[lbt]*.*"):  # what the compiler made; Cython's C files stay
        shutil.rmtree(built)
    _run(builder, "-c", BUILD, "without", "wheel", cwd=source, CC=shutil.which("false") or "")
    found = {path.name: path for path in (source / "dist").iterdir()}
    (without_compiler,) = (source / "without").iterdir()
    return {
        "without a compiler": without_compiler,
        "sdist": next(path for name, path in found.items() if name.endswith(".tar.gz")),
        "pure": next(path for name, path in found.items() if name.endswith("-py3-none-any.whl")),
        "compiled": next(path for name, path in found.items() if "-abi3-" in name),
    }


def test_package_metadata_is_accepted_by_an_index(distributions: dict[str, Path]) -> None:
    _run(BIN / "twine", "check", "--strict", *distributions.values())
    _run(BIN / "check-wheel-contents", *(path for path in distributions.values() if path.suffix == ".whl"))


@pytest.mark.soak
def test_a_dry_run_of_a_release_builds_and_checks_and_says_what_is_missing(source: Path) -> None:
    printed = _run(sys.executable, "-m", "tools.release", "--dry-run", "--build", "--tag", "v0.0.0", cwd=source)
    assert "### Broker" in printed  # the changelog's section
    assert "PASSED" in printed and "built oncelog-" in printed


def test_a_build_without_a_compiler_is_tagged_as_pure(distributions: dict[str, Path]) -> None:
    """And it equals the pure wheel, file for file, which :func:`test_an_installed_distribution_serves_and_reads`
    installs.
    """
    wheel, pure = distributions["without a compiler"], distributions["pure"]
    assert wheel.name == pure.name
    contents = [{item.filename: item.CRC for item in zipfile.ZipFile(path).infolist()} for path in (wheel, pure)]
    assert contents[0] == contents[1]


def test_the_source_distribution_contains_licences_documents_and_cython_sources(distributions: dict[str, Path]) -> None:
    with tarfile.open(distributions["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"LICENSE", "NOTICE", "CHANGELOG.md", "README.md", "SECURITY.md", "pyproject.toml", "setup.py"}
    modules = ("protocol/_layout.pyx", "records/_native.pyx", "records/big_endian.pxd", "schemas/arrow/_columns.pyx")
    assert names >= {f"src/oncelog/{module}" for module in modules}


def test_every_extra_is_in_the_metadata_and_installable(distributions: dict[str, Path]) -> None:
    """Each of their packages is installed here, in a version that the extra accepts."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    wheel = zipfile.ZipFile(distributions["compiled"])
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(wheel.read(name))
    assert set(metadata.get_all("Provides-Extra", ())) == set(extras)
    for extra in sorted(extras):
        wanted = [Requirement(text) for text in metadata.get_all("Requires-Dist", ())]
        asked = [item for item in wanted if item.marker is not None and item.marker.evaluate({"extra": extra})]
        assert len(asked) >= 1, extra
        for requirement in asked:
            assert version(requirement.name) in requirement.specifier, f"{extra}: {requirement}"
            assert requirement.extras <= (extras.keys() if requirement.name == "oncelog" else requirement.extras)


def test_a_wheel_contains_the_licence_and_no_developer_files(distributions: dict[str, Path]) -> None:
    for kind in ("pure", "compiled"):
        wheel = zipfile.ZipFile(distributions[kind])
        names = wheel.namelist()
        assert any(name.endswith("licenses/LICENSE") for name in names)
        assert any(name.endswith("licenses/NOTICE") for name in names)
        assert not [name for name in names if name.startswith(("tests/", "tools/"))]
        assert not [name for name in names if name.endswith((".c", ".pyx", ".pxd"))]
        compiled = [name for name in names if name.endswith(".so")]
        assert len(compiled) == (len([*(ROOT / "src").rglob("*.pyx")]) if kind == "compiled" else 0)
        assert not any(b".debug_info" in wheel.read(name) for name in compiled)


@pytest.mark.parametrize("kind", ["pure", "compiled", pytest.param("sdist", marks=pytest.mark.soak)])
def test_an_installed_distribution_serves_and_reads(kind: str, distributions: dict[str, Path], tmp_path: Path) -> None:
    with_commands = kind == "compiled"
    python = _environment(tmp_path / "venv", f"{distributions[kind]}{'[cli]' if with_commands else ''}")
    _run(python, "-c", FIRST_MINUTE, cwd=tmp_path)
    has_rich = "import importlib.util; print(importlib.util.find_spec('rich') is not None)"
    assert _run(python, "-c", has_rich, cwd=tmp_path) == f"{with_commands}\n"
    version = _run(tmp_path / "venv" / "bin" / "oncelog", "--version", cwd=tmp_path)
    assert ("pure Python" in version) == (kind == "pure"), version


# --- the README's programs


def _readme_program(word: str) -> str:
    """The README's block of Python that has this word."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = (block for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) if word in block)
    return program


def _readme_environment(folder: Path, wheel: Path, word: str) -> Path:
    """The Python of a new environment with what the README's ``pip install`` with this word installs.

    The checkout is replaced by the wheel that was built from it.
    """
    lines = re.findall(r"^    pip install (.*)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    (line,) = (line for line in lines if word in line)
    wanted = shlex.split(line, comments=True)
    assert wanted[0].startswith(".")
    return _environment(folder, f"{wheel}{wanted[0][1:]}", *wanted[1:])


def test_the_readmes_test_passes_with_only_the_packages_that_it_names(
    distributions: dict[str, Path], tmp_path: Path
) -> None:
    python = _readme_environment(tmp_path / "venv", distributions["compiled"], "pytest")
    (tmp_path / "test_order.py").write_text(_readme_program("oncelog_broker"))
    assert "1 passed" in _run(python, "-m", "pytest", "-q", "test_order.py", cwd=tmp_path, PYTHONPATH="")


@pytest.mark.spark
@pytest.mark.timeout(1200)
def test_the_readmes_query_copies_each_record_once_on_apache_kafka_after_a_kill(
    distributions: dict[str, Path], apache_kafka: RunningKafka, tmp_path: Path
) -> None:
    """The address is replaced, as the reader replaces it; no other test has topics with the README's names."""
    python = _readme_environment(tmp_path / "venv", distributions["compiled"], "[spark]")
    values = [b"%d apples" % number for number in range(6)]
    servers = apache_kafka.bootstrap_servers
    program = _readme_program("writeStream")
    assert program.count("localhost:9092") == 1
    (tmp_path / "orders_copy.py").write_text(program.replace("localhost:9092", servers))
    with oncelog.Producer(bootstrap_servers=servers) as producer:
        for part in (values[:3], values[3:]):
            for value in part:
                producer.send_and_wait("orders", value)
            with _killed_at_the_end(python, tmp_path / "orders_copy.py") as process:
                assert _copied(servers, part[-1], process) == values[: values.index(part[-1]) + 1]


@contextmanager
def _killed_at_the_end(python: Path, program: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Only Java's options are the tests'."""
    kept = {name: value for name, value in of_family().items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    with (program.parent / "copy.log").open("ab") as log:
        process = subprocess.Popen(
            [python, program],
            cwd=program.parent,
            env=kept | {"PYTHONPATH": "", "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _copied(servers: str, last: bytes, process: subprocess.Popen[bytes]) -> list[bytes | None]:
    """The committed values of the copy, until ``last`` is among them, or the process has ended by itself."""
    found: list[bytes | None] = []
    with oncelog.Consumer(
        "orders-copy", bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        while last not in found and process.poll() is None:
            record = consumer.getone(timeout_ms=1000)
            if record is not None:
                found.append(record.value)
    return found
