"""Every error that the troubleshooting page for Spark quotes can really be raised, by our code, Spark or a broker."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pyspark
import pytest

from oncelog.errors import Error

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "troubleshooting-spark.md"
SPARKS_OWN = {
    "DATA_SOURCE_NOT_FOUND",
    "UNSUPPORTED_DATA_SOURCE_SAVE_MODE",
    "STREAMING_REAL_TIME_MODE",
    "oncelog does not support Update mode",
    "does not support continuous processing",
    "Python worker failed to connect back",
    "Multiple streaming queries are concurrently using ...",
    "CONCURRENT_STREAM_LOG_UPDATE",
    "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    "Incomplete log file in the offset commit log",
    "Checksum error: file:...",
    "Unexpected end-of-input",
    "There are [0] sources in the checkpoint offsets",
    "Previous batch ... not found in offset log",
    "batch ... doesn't exist",
}
"""Errors of Spark's JVM that have names; those of PySpark are in a file of its own."""
_GAP = "\N{HORIZONTAL ELLIPSIS}"


def quoted() -> list[str]:
    """The text between backticks in the first column of the tables."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return [text for row in rows for text in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


@cache
def texts_of_the_code() -> list[str]:
    """Every string of the package, with a gap for each value that is filled in."""
    found: list[str] = []
    for file in sorted((ROOT / "src" / "oncelog").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.JoinedStr(values=parts):
                    found.append("".join(str(part.value) if isinstance(part, ast.Constant) else _GAP for part in parts))
                case ast.Constant(value=str(text)):
                    found.append(text)
    return found


@cache
def conditions() -> set[str]:
    """Names of errors that others raise."""
    file = Path(pyspark.__file__).parent / "errors" / "error-conditions.json"
    return {error.name for error in Error} | SPARKS_OWN | set(json.loads(file.read_text()))


@pytest.mark.parametrize("text", quoted())
def test_an_error_quoted_on_the_page_is_raised_by_the_code(text: str) -> None:
    parts = [part.strip() for part in text.split("...") if part.strip()]
    wanted = re.compile(".*".join(re.escape(part).replace(_GAP, ".*") for part in parts), re.DOTALL)
    assert text in conditions() or any(wanted.search(string) for string in texts_of_the_code()), text


def test_the_page_quotes_more_than_20_errors() -> None:
    assert len(quoted()) > 20
