"""No record is stored twice, though its producer sent it often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    counts = Counter(value for log in history.uncommitted.values() for _, value in log)
    sent = {one.value for one in history.sent if one.producer.partition(".")[0] not in history.repeats}
    return [f"{value!r} is stored {count} times" for value, count in counts.items() if count > 1 and value in sent]
