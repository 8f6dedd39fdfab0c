"""Turns a client's certificate into a principal: the subject as Java writes it, and ``ssl.principal.mapping.rules``.

Called by the server after a TLS handshake. The subject has the form of RFC 2253 with Java's choices
(``X500Principal.getName``): the last component first, keywords for the nine types of RFC 2253, other types by number
with a hex value. Source of the rules: Kafka's ``SslPrincipalMapper``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from oncelog.errors import ConfigError

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.6": "C",
    "2.5.4.9": "STREET",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_TEXTS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
"""ASN.1 tags of values that Java writes as text, all of them decoded as UTF-8; any other value is written in hex."""
_TO_ESCAPE = re.compile(r'[,=+<>#;"\\]')
_SUBJECT_POSITION = 4
"""Index of the subject among a certificate's fields, counted without the optional version: serial number, signature,
issuer, validity, subject.
"""


class MalformedCertificate(Exception):
    """The DER of a certificate cannot be read."""


@dataclass(frozen=True, slots=True)
class _Element:
    tag: int
    content: bytes
    whole: bytes


def subject_of(certificate: bytes) -> str:
    """The distinguished name of the subject of a certificate in DER.

    :raises MalformedCertificate: the bytes are not a certificate.
    """
    try:
        fields = list(_elements(next(_elements(next(_elements(certificate)).content)).content))
        fields = fields[1:] if fields[0].tag == 0xA0 else fields
        names = [list(_elements(name.content)) for name in _elements(fields[_SUBJECT_POSITION].content)]
        return ",".join("+".join(_attribute(part) for part in name) for name in reversed(names))
    except (IndexError, StopIteration, ValueError) as error:
        raise MalformedCertificate(f"a certificate that cannot be decoded: {type(error).__name__}") from error


def _elements(data: bytes) -> Iterator[_Element]:
    position = 0
    while position < len(data):
        start, tag, length = position, data[position], data[position + 1]
        position += 2
        if length >= 0x80:
            count = length & 0x7F
            length = int.from_bytes(data[position : position + count], "big")
            position += count
        if position + length > len(data):
            raise IndexError(position)
        yield _Element(tag, data[position : position + length], data[start : position + length])
        position += length


def _attribute(element: _Element) -> str:
    oid, value = _elements(element.content)
    number = _oid(oid.content)
    keyword = _KEYWORDS.get(number)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or number}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode(errors='replace'))}"


def _oid(content: bytes) -> str:
    numbers, value = [], 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _escaped(value: str) -> str:
    """Escape a value as Java's ``AVA.toRFC2253String`` does, which escapes every space and carriage return at both
    ends."""
    text = _TO_ESCAPE.sub(r"\\\g<0>", value).replace("\0", r"\00")
    middle = text.strip(" \r")
    start = len(text) - len(text.lstrip(" \r")) if middle else len(text)
    return _spaces(text[:start]) + middle + _spaces(text[start + len(middle) :])


def _spaces(text: str) -> str:
    return "".join(f"\\{space}" for space in text)


DEFAULT_RULE = "DEFAULT"
_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*"
)
_BACK_REFERENCE = re.compile(r"\\(.)|\$(\d+)")


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    replacement: str
    case: str

    def apply(self, name: str) -> str | None:
        if self.pattern.fullmatch(name) is None:
            return None
        text = self.pattern.sub(self._expanded, name)
        return text.lower() if self.case == "L" else text.upper() if self.case == "U" else text

    def _expanded(self, match: re.Match[str]) -> str:
        """The replacement with Java's group references: ``$1`` is a group; the number of a group that does not exist
        stays as it is."""
        groups = self.pattern.groups

        def part(found: re.Match[str]) -> str:
            if found[1] is not None:
                return found[1]
            digits, number, length = found[2], 0, 0
            for digit in digits:
                if 10 * number + int(digit) > groups:
                    break
                number, length = 10 * number + int(digit), length + 1
            return (match[number] or "") + digits[length:] if length else found[0]

        return _BACK_REFERENCE.sub(part, self.replacement)


class PrincipalMapper:
    """Applies ``ssl.principal.mapping.rules``: the first rule that matches the subject determines the principal."""

    def __init__(self, rules: str) -> None:
        self._rules = list(_parsed(rules or DEFAULT_RULE))

    def name(self, subject: str) -> str | None:
        """The principal's name; None if no rule applies."""
        for rule in self._rules:
            name = subject if rule is None else rule.apply(subject)
            if name is not None:
                return name
        return None


def _parsed(rules: str) -> Iterator[_Rule | None]:
    """The rules in order; None means the rule DEFAULT."""
    position, text = 0, rules.strip()
    while position < len(text):
        if text[position] == ",":
            position += 1
            continue
        rule = _RULE.match(text, position)
        if rule is None or (rule.end() < len(text) and text[rule.end()] != ","):
            raise ConfigError(
                f"ssl.principal.mapping.rules has an invalid rule: {text[position:]!r}; write DEFAULT or "
                f"RULE:pattern/replacement/ optionally followed by L or U, separated by commas"
            )
        position = rule.end()
        if rule["default"]:
            yield None
            continue
        try:
            yield _Rule(re.compile(rule["pattern"]), rule["replacement"], rule["case"])
        except (re.error, OverflowError, RecursionError) as error:
            raise ConfigError(
                f"ssl.principal.mapping.rules: {rule['pattern']!r} is not a regular expression: {error}"
            ) from None
