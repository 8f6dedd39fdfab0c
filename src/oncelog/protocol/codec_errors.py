"""Errors in converting between messages and bytes. Raised by every codec of this package."""

from __future__ import annotations


class ProtocolError(Exception):
    """Base of the codec's errors. Not a ``ValueError``: readers catch those to add their position."""


class MalformedMessage(ProtocolError):
    """The bytes are not the expected message: too few or too many, or a wrong length.

    ``offset`` is the position in the decoder's buffer at which the named field, or the run of fixed-size fields that
    starts with it, begins, or at which its bytes end too early.
    """

    def __init__(self, message: str, field: str, offset: int, reason: str) -> None:
        super().__init__(f"malformed {message}: {field} at byte {offset}: {reason}")
        self.message = message
        self.field = field
        self.offset = offset
        self.reason = reason

    def __reduce__(self) -> tuple[type[MalformedMessage], tuple[str, str, int, str]]:
        return (type(self), (self.message, self.field, self.offset, self.reason))


class UnsupportedField(ProtocolError):
    """A field has a value, but the requested version has no such field, and the value may not be dropped silently."""

    def __init__(self, message: str, field: str, versions: str) -> None:
        super().__init__(f"{message}.{field} is set, but version {versions} has no such field")
        self.message = message
        self.field = field


class UnencodableValue(ProtocolError):
    """A field has a value that its type cannot represent: out of range, too long, or null if null is not allowed."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(f"cannot encode {message}: {reason}")
        self.message = message
        self.reason = reason


class UnknownVersion(ProtocolError):
    """The message has no such version."""

    def __init__(self, message: str, version: int, lowest: int, highest: int) -> None:
        super().__init__(f"{message} has versions {lowest} to {highest}, not {version}")
        self.message = message
        self.version = version
