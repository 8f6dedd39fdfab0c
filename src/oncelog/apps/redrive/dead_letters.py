"""Decides what is done with a dead letter: it is sent back, parked, skipped by the transform, or not selected. Pure.

Called by :mod:`oncelog.apps.redrive.redriving`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json
from oncelog.spark.pipeline.dead_letters import ERROR_HEADER, ORIGIN_HEADERS

ATTEMPTS_HEADER = "oncelog.attempts"
"""The header that counts how often the record was sent back."""
NAME = re.compile(r"[a-zA-Z0-9._-]{1,100}")
"""The pattern of names that a redrive may have."""

Headers = tuple[tuple[str, bytes | None], ...]


class RedriveError(OncelogError):
    """The redrive cannot continue; the text says what to do."""


class StoredDeadLetter(Protocol):
    """A record as a consumer returns it."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]: ...


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record to send back, as it was before it became a dead letter; a transform may return a changed one.

    :param partition: None lets the key choose the partition.
    :param error: why the record became a dead letter.
    :param attempts: how often the record was sent back before.
    """

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    error: str = ""
    attempts: int = 0


Transform = Callable[[DeadLetter], DeadLetter | None]


class DeadLetterOutcome(StrEnum):
    """What a redrive does with a dead letter."""

    SENT = "sent"
    PARKED = "parked"
    SKIPPED = "skipped"
    PASSED = "passed"


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a redrive.

    :param to: the topic to which dead letters are sent; None sends each to the topic that it came from.
    :param where: headers that a dead letter must have, each with this value.
    :param error: a text that the error of a dead letter must contain.
    :param max_attempts: a dead letter that was sent back this many times goes to the topic ``parking``.
    """

    to: str | None = None
    where: tuple[tuple[str, bytes], ...] = ()
    error: str | None = None
    max_attempts: int | None = None
    parking: str = ""
    transform: Transform | None = None

    @property
    def selection(self) -> str:
        """A hash of the conditions that choose dead letters; it is stored as the metadata of the committed offsets, so
        that a run with other conditions is refused."""
        chosen = json.dumps([sorted((name, value.hex()) for name, value in self.where), self.error])
        return f"selection {hashlib.sha256(chosen.encode()).hexdigest()}"

    def decide(self, stored: StoredDeadLetter) -> tuple[DeadLetterOutcome, DeadLetter | None]:
        """The decision about a dead letter, and the record to write for it, if any.

        :raises RedriveError: the dead letter does not name its origin, or the transform failed.
        """
        if not self._chooses(stored):
            return DeadLetterOutcome.PASSED, None
        place = f"{stored.topic}-{stored.partition}:{stored.offset}"
        attempts = _attempts(stored, place)
        if self.max_attempts is not None and attempts >= self.max_attempts:
            return DeadLetterOutcome.PARKED, DeadLetter(
                self.parking, None, stored.key, stored.value, tuple(stored.headers)
            )
        dead_letter = self._restored(stored, attempts, place)
        changed = dead_letter if self.transform is None else _transformed(self.transform, dead_letter, place)
        if changed is None:
            return DeadLetterOutcome.SKIPPED, None
        counted = (*changed.headers, (ATTEMPTS_HEADER, str(attempts + 1).encode()))
        return DeadLetterOutcome.SENT, replace(changed, headers=counted)

    def _chooses(self, stored: StoredDeadLetter) -> bool:
        headers = list(stored.headers)
        if any(wanted not in headers for wanted in self.where):
            return False
        return self.error is None or self.error in origin_error(stored)

    def _restored(self, stored: StoredDeadLetter, attempts: int, place: str) -> DeadLetter:
        headers = list(stored.headers)
        error = origin_error(stored)
        topic, partition = self.to, None
        if topic is None:
            topic = _text(_last(headers, "oncelog.topic"))
            if not topic:
                raise RedriveError(
                    f"Dead letter {place} has no header oncelog.topic that names a topic: say with --to where it goes, "
                    "or leave it out with --where or --error"
                )
            partition = _number(headers, "oncelog.partition", place)
        for name in (ERROR_HEADER, *ORIGIN_HEADERS):
            _drop_last(headers, name)
        kept = tuple(header for header in headers if header[0] != ATTEMPTS_HEADER)
        return DeadLetter(topic, partition, stored.key, stored.value, kept, error, attempts)


def origin_error(stored: StoredDeadLetter) -> str:
    """Why the record became a dead letter, as its header says."""
    return _text(_last(stored.headers, ERROR_HEADER)) or ""


def _transformed(transform: Transform, dead_letter: DeadLetter, place: str) -> DeadLetter | None:
    try:
        changed = transform(dead_letter)
    except Exception as error:
        raise RedriveError(
            f"The transform failed at dead letter {place}: {type(error).__name__}: {error}; correct it and run this "
            "again"
        ) from error
    if changed is not None and not isinstance(changed, DeadLetter):
        raise RedriveError(
            f"The transform returned {type(changed).__name__} for dead letter {place}: return a DeadLetter "
            "(dataclasses.replace(dead_letter, value=...)) or None"
        )
    return changed


def _attempts(stored: StoredDeadLetter, place: str) -> int:
    return _number(stored.headers, ATTEMPTS_HEADER, place) or 0


def _number(headers: Sequence[tuple[str, bytes | None]], name: str, place: str) -> int | None:
    given = _last(headers, name)
    if given is None:
        return None
    if not given.isdigit() or len(given) > 10:
        raise RedriveError(f"Header {name} of dead letter {place} is not a number: {given[:40]!r}")
    return int(given)


def _last(headers: Sequence[tuple[str, bytes | None]], name: str) -> bytes | None:
    """The value of the last header with this name, because a record may have become a dead letter several times."""
    return next((value for known, value in reversed(headers) if known == name), None)


def _drop_last(headers: list[tuple[str, bytes | None]], name: str) -> None:
    for index in range(len(headers) - 1, -1, -1):
        if headers[index][0] == name:
            del headers[index]
            return


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


__all__ = [
    "ATTEMPTS_HEADER",
    "ERROR_HEADER",
    "NAME",
    "ORIGIN_HEADERS",
    "DeadLetter",
    "DeadLetterOutcome",
    "Plan",
    "RedriveError",
    "Transform",
    "origin_error",
]
