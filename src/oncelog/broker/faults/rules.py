"""Faults by name: what happens to which requests, how often, and how often it has happened.

Called by the proxy for each request, and by tests from their own thread. A fault ends with its ``with`` block, or with
:meth:`Fault.remove`.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Self, TypeGuard

from oncelog.broker.faults.answers import can_refuse
from oncelog.broker.faults.targets import READERS, RequestTarget, TargetReader
from oncelog.broker.metadata.topic_rules import name_refusal
from oncelog.errors import Error, OncelogError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import API_VERSIONS, response_type
from oncelog.settings.fields import nearest

DAY_MS = 86_400_000


class FaultError(OncelogError):
    """The fault is impossible: its name is unknown, or it can never match a request."""


class Action(Enum):
    """What happens to a request that a fault hits."""

    LOSE_REQUEST = "it never reaches the broker; the connection ends"
    LOSE_ANSWER = "the broker carries it out; its answer never arrives and the connection ends"
    DELAY_REQUEST = "it reaches the broker later"
    DELAY_ANSWER = "its answer arrives later"
    ANSWER_ERROR = "it is refused and never reaches the broker"
    DUPLICATE = "it reaches the broker twice"
    REORDER = "it reaches the broker after the next request of its connection"
    THROTTLE = "its answer asks the client to wait"
    BLACKHOLE = "it is never answered and the connection stays"
    CRASH_AFTER_ANSWER = "it is carried out; its coordinator crashes before the answer leaves"
    HOLD_MARKER = "a transaction's marker waits before its partition"
    LOSE_MARKER = "a transaction's marker is lost on its way, and the coordinator sends it again"
    REPEAT_MARKER = "a transaction's marker is written twice"
    CRASH_COORDINATOR = "a transaction's coordinator crashes while it ends the transaction"
    FULL_DISK = "writes find no space"
    SLOW_DISK = "syncs take longer"
    FAILING_SYNC = "a sync fails"


MARKER_ACTIONS = frozenset({Action.HOLD_MARKER, Action.LOSE_MARKER, Action.REPEAT_MARKER, Action.CRASH_COORDINATOR})
_METHODS = {
    Action.DELAY_REQUEST: "delay",
    Action.DELAY_ANSWER: "delay(answer=True)",
    Action.CRASH_AFTER_ANSWER: "crash_coordinator",
    Action.HOLD_MARKER: "hold_markers",
}
"""The call that sets the fault, for actions with another name than their call."""
DISK_ACTIONS = frozenset({Action.FULL_DISK, Action.SLOW_DISK, Action.FAILING_SYNC})
_ELSEWHERE = MARKER_ACTIONS | DISK_ACTIONS
"""Actions that do not apply to a client's request."""


@dataclass(frozen=True, slots=True)
class Match:
    """A filter that selects the requests that match every field that is not None."""

    api: ApiKey | None = None
    version: int | None = None
    client_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    transactional_id: str | None = None
    group: str | None = None

    @property
    def needs_body(self) -> bool:
        return (self.topic, self.partition, self.transactional_id, self.group) != (None, None, None, None)

    def agrees(self, api_key: int, version: int, client_id: str | None) -> bool:
        """Whether a request with this header matches the filter."""
        return self.api in (None, api_key) and self.version in (None, version) and self.client_id in (None, client_id)

    def covers(self, subject: RequestTarget) -> bool:
        """Whether a request with these topics, ids and groups matches the filter."""
        if self.topic is not None or self.partition is not None:
            found = (self.topic in (None, name) and self.partition in (None, index) for name, index in subject.topics)
            if not any(found):
                return False
        if self.transactional_id is not None and self.transactional_id not in subject.transactional_ids:
            return False
        return self.group is None or self.group in subject.groups

    def __str__(self) -> str:
        named = {"v": self.version, "client": self.client_id, "topic": self.topic, "partition": self.partition}
        named |= {"transactional id": self.transactional_id, "group": self.group}
        words = [self.api.name.title().replace("_", "") if self.api is not None else "any request"]
        return ", ".join(words + [f"{name} {value}" for name, value in named.items() if value is not None])


class Fault:
    """A fault that counts its hits; used as ``with`` block, it is removed at the end of the block."""

    def __init__(
        self,
        owner: Faults,
        action: Action,
        match: Match,
        *,
        times: int | None,
        skip: int,
        probability: float,
        seed: int,
        error: Error = Error.NONE,
        delay_ms: int = 0,
        phase: str = "",
    ) -> None:
        self.action = action
        self.match = match
        self.error = error
        self.delay_ms = delay_ms
        self.phase = phase
        """For ``crash_coordinator``, the point in the end of a transaction at which the coordinator crashes."""
        self.hits = 0
        """The number of times that the fault has hit."""
        self._owner = owner
        self._times = times
        self._to_skip = skip
        self._probability = probability
        self._random = random.Random(seed)

    def strikes(self) -> bool:
        """Whether the fault hits a request that matches it; called once for each such request, in order, under the
        owner's lock."""
        if self._times is not None and self.hits >= self._times:
            return False
        if self._to_skip:
            self._to_skip -= 1
            return False
        if self._probability < 1 and self._random.random() >= self._probability:
            return False
        self.hits += 1
        return True

    def wait(self, timeout: float = 30, hits: int = 1) -> Self:
        """Return the fault once it has hit ``hits`` times, so that tests can write ``assert fault.wait(10)``.

        :param timeout: in seconds.
        :raises TimeoutError: the fault has not hit that often in time.
        """
        with self._owner.changed:
            if not self._owner.changed.wait_for(lambda: self.hits >= hits, timeout):
                raise TimeoutError(f"{self} within {timeout} s, not {hits} times")
        return self

    def remove(self) -> None:
        """Remove the fault: it hits no more requests; its count ``hits`` stays."""
        self._owner.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def __str__(self) -> str:
        what = _METHODS.get(self.action, self.action.name.lower())
        detail = f" {self.error.name}" if self.error else f" {self.delay_ms} ms" if self.delay_ms else ""
        detail += f" after {self.phase}" if self.phase else ""
        return f"{what}{detail} ({self.match}) struck {self.hits} time{'' if self.hits == 1 else 's'}"


class Faults:
    """The faults in force. Each method creates a fault, and takes these keyword arguments:

    - ``api``: the name of an API in Kafka, such as ``"Produce"``; None for every request.
    - ``version``, ``client_id``, ``topic``, ``partition``, ``transactional_id``, ``group``: only requests with this
      value.
    - ``times``: the number of hits; None for any number.
    - ``skip``: the number of matching requests that are not hit first.
    - ``probability``: with which a matching request is hit, above 0 and at most 1, by random numbers from ``seed``.

    Raises ``FaultError`` for an unknown API, or for a field that the API's requests never contain.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._faults: list[Fault] = []
        self._seen: list[Fault] = []

    def lose_request(self, api: str | None = None, *, times: int | None = 1, **match: object) -> Fault:
        """Lose a request: it never reaches the broker, and the connection ends."""
        return self._add(Action.LOSE_REQUEST, api, times, match)

    def lose_answer(self, api: str | None = None, *, times: int | None = 1, **match: object) -> Fault:
        """Lose an answer: the broker carries the request out, its answer never arrives, and the connection ends."""
        return self._add(Action.LOSE_ANSWER, api, times, match)

    def cut_connection(
        self, when: str = "before", api: str | None = None, *, times: int | None = 1, **match: object
    ) -> Fault:
        """Cut a connection ``"before"`` a request reaches the broker, or ``"after"`` the request was carried out."""
        if when not in ("before", "after"):
            raise FaultError(f"a connection is cut before or after the request, not {when!r}")
        return self._add(Action.LOSE_REQUEST if when == "before" else Action.LOSE_ANSWER, api, times, match)

    def delay(
        self, ms: int, api: str | None = None, *, answer: bool = False, times: int | None = None, **match: object
    ) -> Fault:
        """Delay a request on its way to the broker by ``ms``, or its answer on the way to the client. Later requests of
        the connection wait, too."""
        milliseconds("a delay", ms)
        return self._add(Action.DELAY_ANSWER if answer else Action.DELAY_REQUEST, api, times, match, delay_ms=ms)

    def answer_error(self, api: str, error: str | int | Error, *, times: int | None = 1, **match: object) -> Fault:
        """Refuse a request with ``error``; the request never reaches the broker."""
        return self._add(Action.ANSWER_ERROR, api, times, match, error=_error(error))

    def duplicate(self, api: str | None = None, *, times: int | None = 1, **match: object) -> Fault:
        """Pass a request to the broker twice, as if it was repeated; the client gets the first answer."""
        return self._add(Action.DUPLICATE, api, times, match)

    def reorder(self, api: str | None = None, *, times: int | None = 1, **match: object) -> Fault:
        """Pass a request to the broker after the next request of its connection; the answers keep their order."""
        return self._add(Action.REORDER, api, times, match)

    def throttle(self, ms: int, api: str, *, times: int | None = None, **match: object) -> Fault:
        """Let the answer ask the client to wait for ``ms``, as a quota would."""
        milliseconds("a throttle time", ms)
        return self._add(Action.THROTTLE, api, times, match, delay_ms=ms)

    def blackhole(
        self, client_id: str | None = None, api: str | None = None, *, times: int | None = None, **match: object
    ) -> Fault:
        """Neither carry out nor answer the requests of a client; its connections stay open."""
        return self._add(Action.BLACKHOLE, api, times, {**match, "client_id": client_id})

    def clear(self) -> None:
        """Remove all faults."""
        with self.changed:
            self._faults.clear()

    def remove(self, fault: Fault) -> None:
        """Remove a fault; does nothing if it was removed before."""
        with self.changed:
            if fault in self._faults:
                self._faults.remove(fault)

    def report(self) -> list[str]:
        """The hits since the last report, one line for each fault, including faults that never hit."""
        with self.changed:
            lines = [str(fault) for fault in self._seen]
            self._seen = list(self._faults)
        return lines

    @property
    def in_force(self) -> Sequence[Fault]:
        """The faults in force, the oldest first."""
        return tuple(self._faults)

    def candidates(self, api_key: int, version: int, client_id: str | None) -> list[Fault]:
        """The faults in force that match a request's header."""
        if not self._faults:
            return []
        with self.changed:
            return [
                fault
                for fault in self._faults
                if fault.action not in _ELSEWHERE and fault.match.agrees(api_key, version, client_id)
            ]

    def of(self, actions: frozenset[Action]) -> list[Fault]:
        """The faults in force with one of these actions, which do not apply to requests."""
        if not self._faults:
            return []
        with self.changed:
            return [fault for fault in self._faults if fault.action in actions]

    def strike(self, candidates: Sequence[Fault], subject: RequestTarget | None) -> list[Fault]:
        """Those of ``candidates`` that hit the request; each of them counts a hit."""
        with self.changed:
            struck = [
                fault
                for fault in candidates
                if (not fault.match.needs_body or (subject is not None and fault.match.covers(subject)))
                and fault.strikes()
            ]
            if struck:
                self.changed.notify_all()
            return struck

    def _add(
        self,
        action: Action,
        api: str | None,
        times: int | None,
        options: dict[str, object],
        *,
        error: Error = Error.NONE,
        delay_ms: int = 0,
        phase: str = "",
    ) -> Fault:
        given = dict(options)
        skip, probability, seed = given.pop("skip", 0), given.pop("probability", 1.0), given.pop("seed", 0)
        unknown = sorted(given.keys() - Match.__dataclass_fields__.keys() | (given.keys() & {"api"}))
        if unknown:
            known = ", ".join(name for name in Match.__dataclass_fields__ if name != "api")
            raise FaultError(f"a fault matches by {known}, skip, probability and seed, not by {unknown[0]}")
        if times is not None:
            _positive("times", times)
        if not is_whole(skip, 0):
            raise FaultError(f"skip is the number of requests that pass first, not {skip!r}")
        if not isinstance(probability, int | float) or not 0 < probability <= 1:
            raise FaultError(f"a probability is above 0 and at most 1, not {probability!r}")
        if not isinstance(seed, int):
            raise FaultError(f"a seed is a whole number, not {seed!r}")
        if seed and probability == 1:
            raise FaultError(f"the seed {seed} has no effect: give a probability below 1 with it")
        match = Match(api=api_of(api), **given)  # type: ignore[arg-type]
        _can_match(match, action)
        fault = Fault(
            self,
            action,
            match,
            times=times,
            skip=skip,
            probability=probability,
            seed=seed,
            error=error,
            delay_ms=delay_ms,
            phase=phase,
        )
        with self.changed:
            self._faults.append(fault)
            self._seen.append(fault)
        return fault


NAMING_NO_PARTITION = (
    ApiKey.METADATA,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
)
"""APIs whose requests name topics without partitions."""


def _can_match(match: Match, action: Action) -> None:
    """Refuse a fault that could never match."""
    for field in ("version", "partition"):
        number = getattr(match, field)
        if number is not None and not is_whole(number, 0):
            raise FaultError(f"{field} is a whole number of at least 0, not {number!r}")
    for field in ("client_id", "topic", "transactional_id", "group"):
        name = getattr(match, field)
        if name is not None and not isinstance(name, str):
            raise FaultError(f"{field} is a string, not {name!r}")
    refusal = name_refusal(match.topic) if match.topic is not None else None
    if refusal is not None or match.transactional_id == "":
        raise FaultError(f"{refusal or 'no transactional_id is empty'}, so this fault could never strike")
    if match.api is None:
        return
    name = match.api.name.title().replace("_", "")
    reader = READERS.get(match.api, TargetReader())
    readers = {
        "topic": reader.topics,
        "partition": reader.topics,
        "transactional_id": reader.transactional_ids,
        "group": reader.groups,
    }
    for field, reads in readers.items():
        if getattr(match, field) is not None and reads is None:
            raise FaultError(f"a {name} request names no {field}, so this fault could never strike")
    if match.partition is not None and match.api in NAMING_NO_PARTITION:
        raise FaultError(f"a {name} request names no partition, so this fault could never strike")
    if match.api == ApiKey.FIND_COORDINATOR and match.group is not None and match.transactional_id is not None:
        raise FaultError("a FindCoordinator request asks for a group or for a transactional_id, never for both")
    versions = API_VERSIONS[match.api]
    if match.version is not None and not versions.lowest <= match.version <= versions.highest:
        raise FaultError(f"{name} has versions {versions.lowest} to {versions.highest}, not {match.version}")
    if action is Action.ANSWER_ERROR and match.api != ApiKey.METADATA and not can_refuse(match.api):
        raise FaultError(f"an answer to {name} has no error for the whole request")
    if action is Action.THROTTLE and "throttle_time_ms" not in response_type(match.api).__slots__:
        raise FaultError(f"an answer to {name} has no throttle time")


def api_of(name: str | None) -> ApiKey | None:
    """The API with this name; None for None.

    :raises FaultError: the name is unknown.
    """
    if name is None:
        return None
    if not isinstance(name, str):
        raise FaultError(f'an API is named, such as "Produce", not {name!r}')
    wanted = name.replace("_", "").lower()
    for key in ApiKey:
        if key in API_VERSIONS and key.name.replace("_", "").lower() == wanted:
            return key
    known = [key.name.title().replace("_", "") for key in ApiKey if key in API_VERSIONS]
    raise FaultError(f"there is no API {name!r}{nearest(name, known)}")


def _error(error: str | int | Error) -> Error:
    try:
        found = Error[error] if isinstance(error, str) else Error(error)
    except (KeyError, ValueError):
        raise FaultError(f"there is no error {error!r}{nearest(str(error), [e.name for e in Error])}") from None
    if found is Error.NONE:
        raise FaultError("NONE is not an error: name one, such as NOT_LEADER_OR_FOLLOWER")
    return found


def is_whole(value: object, least: int) -> TypeGuard[int]:
    """Whether the value is an integer of at least ``least``."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _positive(what: str, value: object) -> None:
    if not is_whole(value, 1):
        raise FaultError(f"{what} is a whole number of at least 1, not {value!r}")


def milliseconds(what: str, value: object) -> None:
    """Check a duration in ms. :raises FaultError: the duration is too long, or not a number."""
    _positive(what, value)
    if value > DAY_MS:  # type: ignore[operator]
        raise FaultError(f"{what} is at most {DAY_MS} ms (a day), not {value!r}")
