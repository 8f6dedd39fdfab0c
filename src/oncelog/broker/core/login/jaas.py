"""Parses ``sasl.jaas.config`` of a listener: one login module with its options, in the syntax of Java's
``Configuration``.

Error messages never contain the text, because it contains passwords.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from oncelog.errors import ConfigError

_TOKEN = re.compile(r"""\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s=;"']+)|([=;]))""")
_FLAGS = ("required", "requisite", "sufficient", "optional")
USER_PREFIX = "user_"


class LoginModule(NamedTuple):
    """The class name of a login module, and its options."""

    name: str
    options: Mapping[str, str]

    @property
    def users(self) -> dict[str, str]:
        """The users and passwords for PLAIN, in options of the form ``user_NAME="PASSWORD"``."""
        return {
            name.removeprefix(USER_PREFIX): value
            for name, value in self.options.items()
            if name.startswith(USER_PREFIX)
        }


def parse_jaas(property_name: str, text: str) -> LoginModule:
    """Parse a JAAS text with a single login module.

    :raises ConfigError: the text is not of the form ``MODULE required NAME="VALUE" ... ;``
    """
    form = f'{property_name} must have the form MODULE required NAME="VALUE" ... ; with one module'
    tokens = _tokens(text)
    if tokens is None or len(tokens) < 3 or tokens[-1] != ("sign", ";"):
        raise ConfigError(form)
    module, flag = tokens[0][1], tokens[1][1]
    if flag.lower() not in _FLAGS:
        raise ConfigError(form)
    options: dict[str, str] = {}
    rest = tokens[2:-1]
    if len(rest) % 3:
        raise ConfigError(form)
    for name, sign, value in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        if name[0] == "sign" or sign != ("sign", "=") or value[0] == "sign":
            raise ConfigError(form)
        options[name[1]] = value[1]
    return LoginModule(module, options)


def _tokens(text: str) -> list[tuple[str, str]] | None:
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        position = match.end()
        quoted = match[1] if match[1] is not None else match[2]
        if quoted is not None:
            tokens.append(("text", re.sub(r"\\(.)", r"\1", quoted)))
        else:
            tokens.append(("text", match[3]) if match[3] is not None else ("sign", match[4]))
    return tokens
