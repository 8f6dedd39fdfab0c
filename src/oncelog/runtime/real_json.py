"""``json.dumps`` and ``json.loads`` that stay while a test replaces those of the ``json`` package.

``mock.patch("shop.orders.json.dumps")`` replaces the function for the whole process: a broker that runs beside the test
would store a mock. Callers write ``from oncelog.runtime import real_json as json``.
"""

from __future__ import annotations

from json import detect_encoding
from json.decoder import JSONDecodeError, JSONDecoder
from json.encoder import JSONEncoder
from typing import Any

__all__ = ["JSONDecodeError", "dumps", "loads"]
_ENCODER, _DECODER = JSONEncoder(), JSONDecoder()


def dumps(value: Any, **how: Any) -> str:
    """The JSON text of a value.

    :param how: arguments of ``json.JSONEncoder``.
    """
    return (JSONEncoder(**how) if how else _ENCODER).encode(value)


def loads(text: str | bytes | bytearray, **how: Any) -> Any:
    """The value of a JSON text.

    :param how: arguments of ``json.JSONDecoder``.
    :raises ValueError: the text is not JSON, or not Unicode.
    """
    found = text if isinstance(text, str) else text.decode(detect_encoding(text), "surrogatepass")
    return (JSONDecoder(**how) if how else _DECODER).decode(found)
