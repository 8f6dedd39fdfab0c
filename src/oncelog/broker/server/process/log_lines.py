"""Formats the log output of the broker's process, on standard error: as text, or as one JSON object per line."""

from __future__ import annotations

import logging
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType

from oncelog.runtime import real_json as json

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


class TextLines(logging.Formatter):
    """One line for each message, whatever text a client has put into it: line breaks and control codes are escaped."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.translate(CONTROL)
        return super().formatMessage(record)


class JsonLines(logging.Formatter):
    """One JSON object for each message: ``time`` (UTC), ``level``, ``logger``, ``message``, and ``exception`` if there
    is one."""

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
    """A message of the program itself, in the form of :class:`JsonLines`."""
    return JsonLines().format(logging.LogRecord("oncelog", level, "", 0, "%s", (message,), None))


def log_to_stderr(level: str, *, as_json: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else TextLines(TEXT))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    if as_json:
        logging.captureWarnings(True)
        sys.excepthook = _log_uncaught
        threading.excepthook = _log_end_of_thread
        sys.unraisablehook = _log_unraisable


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    logging.getLogger("oncelog").critical("unexpected %s", kind.__name__, exc_info=(kind, error, trace))


def _log_end_of_thread(ended: threading.ExceptHookArgs) -> None:
    name = ended.thread.name if ended.thread is not None else "a thread"
    error = ended.exc_value or ended.exc_type()
    logging.getLogger("oncelog").critical(
        "unexpected %s in %s", ended.exc_type.__name__, name, exc_info=(ended.exc_type, error, ended.exc_traceback)
    )


def _log_unraisable(found: sys.UnraisableHookArgs) -> None:
    error = found.exc_value or found.exc_type()
    logging.getLogger("oncelog").error(
        "%s: %r", found.err_msg or "exception ignored in", found.object,
        exc_info=(found.exc_type, error, found.exc_traceback),
    )  # fmt: skip
