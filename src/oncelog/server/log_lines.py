"""Log output of the broker's process, on standard error: for people, or one JSON object per line."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from types import TracebackType

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


class TextLines(logging.Formatter):
    """One line for each message, whatever text a client put into it: no line breaks, no terminal control codes."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.translate(CONTROL)
        return super().formatMessage(record)


class JsonLines(logging.Formatter):
    """``time`` (UTC), ``level``, ``logger``, ``message``, and ``exception`` if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


def json_line(level: int, message: str) -> str:
    """A line as :class:`JsonLines` writes it, of the program itself."""
    return JsonLines().format(logging.LogRecord("oncelog", level, "", 0, "%s", (message,), None))


def log_to_stderr(level: str, *, as_json: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else TextLines(TEXT))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    if as_json:
        logging.captureWarnings(True)
        sys.excepthook = _log_uncaught


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    logging.getLogger("oncelog").critical("unexpected %s", kind.__name__, exc_info=(kind, error, trace))
