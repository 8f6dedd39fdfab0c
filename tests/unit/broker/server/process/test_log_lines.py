"""Text from a client cannot forge a line of the log, or control the terminal that shows it."""

from __future__ import annotations

import json
import logging

import pytest

from oncelog.broker.server.process.log_lines import TEXT, JsonLines, TextLines

FORGED = "group\n2026-01-01 INFO all is well\r\x1b[2J\u2028x"


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("oncelog.test", logging.INFO, __file__, 1, "%s", (message,), None)


@pytest.mark.parametrize("formatter", [TextLines(TEXT), JsonLines()], ids=["text", "json"])
def test_a_message_is_one_line_without_control_characters(formatter: logging.Formatter) -> None:
    line = formatter.format(record(FORGED))
    assert line.splitlines() == [line]
    assert "\x1b" not in line


def test_text_and_json_lines_show_the_message() -> None:
    assert TextLines(TEXT).format(record("größe\t1")).endswith("größe\\x091")
    assert json.loads(JsonLines().format(record(FORGED)))["message"] == FORGED


def test_a_logged_exception_keeps_its_lines() -> None:
    entry = record("failed")
    entry.exc_info = ValueError, ValueError("x"), None
    assert TextLines(TEXT).format(entry).splitlines()[1:] == ["ValueError: x"]
