"""Python environments beside the one of the tests, for what cannot be installed together; kept on this machine.

Each is made once, with uv if there is one, else with pip, from what a package index has.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def python_with(
    requirements: Sequence[str], cache: Path, name: str, finish: Callable[[Path], None] = lambda folder: None
) -> str:
    """The interpreter of an environment in ``cache``, which is made if it is not there.

    :param finish: what is left to do to its folder after the installation.
    """
    digest = hashlib.sha256(" ".join((sys.version, *requirements)).encode()).hexdigest()[:12]
    folder = cache / f"{name}-{digest}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, requirements)
            finish(folder)
            (folder / "made").touch()
    return str(folder / "bin" / "python")


def _make(folder: Path, requirements: Sequence[str]) -> None:
    sys.stderr.write(f"making an environment with {requirements[0]} in {folder}\n")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    if uv := shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent)):
        command = [uv, "pip", "install", "--quiet", "--python", python]
    else:
        command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    made = subprocess.run([*command, *requirements], capture_output=True, text=True, check=False)
    assert made.returncode == 0, f"{requirements[0]} cannot be installed: is there a network?\n{made.stderr}"
