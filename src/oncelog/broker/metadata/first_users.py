"""Parses SCRAM credentials for a new data folder, in the syntax of Apache Kafka's ``kafka-storage --add-scram``.

``SCRAM-SHA-256=[name=alice,password=alice-secret]``, optionally with ``iterations=``, ``salt=`` (base64), and
``saltedpassword=`` (base64) instead of the password. Error messages name the user, but never the rest of the text.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from hashlib import pbkdf2_hmac
from typing import NamedTuple

from oncelog.errors import ConfigError
from oncelog.protocol.scram import HASH_OF_MECHANISM, MAX_ITERATIONS, MIN_ITERATIONS, ScramCredential, credential

_FORM = re.compile(r"SCRAM-SHA-(256|512)\s*=\s*\[(.*)\]", re.DOTALL)
_PART = re.compile(r"\s*([a-z]+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^,]*)\s*(?:,|$)")
_KNOWN = ("name", "password", "iterations", "salt", "saltedpassword")
SALT_BYTES = 26


class FirstUser(NamedTuple):
    """A user with a SCRAM credential and Kafka's number of its mechanism."""

    user: str
    mechanism: int
    credential: ScramCredential


def parse_first_user(text: str, token: Callable[[int], bytes]) -> FirstUser:
    """The user and credential that a text describes.

    :param token: returns random bytes for a salt.
    :raises ConfigError: the text does not have this form, or the number of iterations is not allowed.
    """
    form = "--add-scram takes SCRAM-SHA-256=[name=USER,password=PASSWORD] or SCRAM-SHA-512, and iterations=N if wanted"
    whole = _FORM.fullmatch(text.strip())
    if whole is None:
        raise ConfigError(form)
    parts = _parts(whole[2])
    if parts is None or not parts.get("name") or ("password" in parts) == ("saltedpassword" in parts):
        raise ConfigError(form)
    mechanism = 1 if whole[1] == "256" else 2
    iterations = parts.get("iterations", str(MIN_ITERATIONS))
    if not iterations.isdecimal() or not MIN_ITERATIONS <= int(iterations) <= MAX_ITERATIONS:
        raise ConfigError(f"iterations of {parts['name']!r} must be a number from {MIN_ITERATIONS} to {MAX_ITERATIONS}")
    try:
        salt = b64decode(parts["salt"], validate=True) if "salt" in parts else token(SALT_BYTES)
        if "password" in parts:
            password = parts["password"].encode()
            salted = pbkdf2_hmac(HASH_OF_MECHANISM[mechanism], password, salt, int(iterations))
        else:
            salted = b64decode(parts["saltedpassword"], validate=True)
    except ValueError:  # raised for invalid base64 (binascii.Error), and for text that is not ASCII
        raise ConfigError(f"salt and saltedpassword of {parts['name']!r} must be base64") from None
    return FirstUser(parts["name"], mechanism, credential(mechanism, int(iterations), salt, salted))


def _parts(text: str) -> dict[str, str] | None:
    parts, position = {}, 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None or part[1] not in _KNOWN or part[1] in parts:
            return None
        value = part[2].strip()
        parts[part[1]] = value[1:-1] if value[:1] in ("'", '"') and len(value) > 1 else value
        position = part.end()
    return parts
