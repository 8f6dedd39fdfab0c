"""``oncelog doctor``: what this installation runs on, and what is missing for more."""

from __future__ import annotations

import platform
import sysconfig
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import click

from oncelog.cli.output import show_json, show_table
from oncelog.records import native
from oncelog.server.disk import lacking, sync_call


def codec() -> str:
    """Which of the two record codecs runs, and why if it is the slower one."""
    return "compiled" if native.compiled is not None else f"pure Python, slower ({native.why_pure})"


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def command(as_json: bool) -> None:
    """Say what this installation runs on, and what it lacks. Nothing is connected to and nothing is changed.

    \b
    Example:
      oncelog doctor
    """
    found = {
        "oncelog": version("oncelog"),
        "python": _python(),
        "record codec": codec(),
        "event loop": "uvloop" if find_spec("uvloop") is not None else "asyncio (faster with oncelog[speed])",
        "data on disk": _disk(),
        "spark": _spark(),
        "java": _java(),
    }
    if as_json:
        show_json({name.replace(" ", "_"): text for name, text in found.items()})
    else:
        show_table(["PART", "FOUND"], list(found.items()))


def _python() -> str:
    threads = ", free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return f"{platform.python_implementation()} {platform.python_version()}{threads}, {platform.platform(terse=True)}"


def _disk() -> str:
    missing = lacking()
    return f"not possible here: no {', '.join(missing)}" if missing else f"possible, synced with {sync_call()}"


def _spark() -> str:
    try:
        return f"pyspark {version('pyspark')}"
    except PackageNotFoundError:
        return "not installed: pip install 'oncelog[spark]'"


def _java() -> str:
    from oncelog.spark.java import JavaMissing, find_java

    try:
        return find_java()
    except JavaMissing as error:
        return f"none that Spark can use: {error}"
