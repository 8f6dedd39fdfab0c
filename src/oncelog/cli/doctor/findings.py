"""A finding of ``oncelog doctor``: the check, what was found, whether that is good, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """``WARN``: it works, but may fail one day. ``BAD``: something does not work, or can lose data."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One finding; ``todo`` is empty if there is nothing to do."""

    check: str
    found: str
    status: Status = Status.OK
    todo: str = ""

    def as_json(self) -> dict[str, str]:
        return {"check": self.check, "status": self.status.value, "found": self.found, "todo": self.todo}


def warn(check: str, found: str, todo: str) -> DoctorFinding:
    return DoctorFinding(check, found, Status.WARN, todo)


def bad(check: str, found: str, todo: str) -> DoctorFinding:
    return DoctorFinding(check, found, Status.BAD, todo)
