"""Formats bytes and times as text and as JSON, in one form everywhere.

Called by the command line, the console and the decoders of internal topics. Pure.
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from typing import Any

FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The first ms of the year 1 and the last ms of the year 9999, since 1970."""


NULL = "null"


def show_bytes(data: bytes | None, null: str = NULL) -> str:
    """Bytes as one line of text: UTF-8 with control characters and invalid bytes escaped.

    :param null: stands for None. A string equal to ``null`` is put into double quotes, so that the two never look
        alike.
    """
    if data is None:
        return null
    try:
        text = show_text(bytes(data).decode())
    except UnicodeDecodeError:
        text = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in data)
    return f'"{text}"' if text.strip('"') == null.strip('"') else text


def show_text(text: str) -> str:
    """The text on one line. Control characters, which could steer the terminal or begin a new line, are escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def json_bytes(data: bytes | None) -> Any:
    """Bytes as a JSON value: null for None, a string if they are UTF-8, otherwise ``{"base64": ...}``."""
    if data is None:
        return None
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def show_time(time_ms: int) -> str | None:
    """A time in UTC with milliseconds; None for -1, which is an unknown time; the number of ms for years before 1 and
    after 9999."""
    if time_ms == -1:
        return None
    if not FIRST_MS <= time_ms <= LAST_MS:
        return f"{time_ms} ms"
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=time_ms)
    return f"{moment.isoformat(timespec='milliseconds')}Z"
