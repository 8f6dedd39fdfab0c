"""Reports open transactions of the source for which a mirror waits before it ends; such a transaction may hang. Pure.

Called by :mod:`oncelog.apps.mirror.run`, after rounds that have copied nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from oncelog.apps.mirror.cut import PartitionView
from oncelog.types import TopicPartition

REPORT_AFTER_S = 10.0
"""How long, in seconds, a transaction must have been open before it is reported."""
_MAX_NAMED = 5

_Key = tuple[TopicPartition, int, int]


class OpenTransactions:
    """The open transactions of the source, and since when each has been seen open."""

    def __init__(self) -> None:
        self._since_s: dict[_Key, float] = {}
        self._reported: set[_Key] = set()

    def describe(self, views: Iterable[PartitionView], now_s: float) -> str | None:
        """A sentence about transactions that have been open for long and were not reported before; None if there are
        none."""
        seen = [(view.name, item.producer_id, item.first) for view in views for item in view.open_transactions()]
        self._since_s = {key: self._since_s.get(key, now_s) for key in seen}
        self._reported.intersection_update(seen)
        late = [key for key, since_s in sorted(self._since_s.items()) if now_s - since_s >= REPORT_AFTER_S]
        new = [key for key in late if key not in self._reported]
        if not new:
            return None
        self._reported.update(new)
        named = ", ".join(
            f"producer {producer_id} in {name} from offset {first} on" for name, producer_id, first in new[:_MAX_NAMED]
        )
        more = f" and {len(new) - _MAX_NAMED} more" if len(new) > _MAX_NAMED else ""
        return (
            f"waits for transactions that are open on the source: {named}{more}. Each ends with its producer or its "
            "timeout; one that does not hangs: oncelog transactions find-hanging names it, oncelog transactions abort "
            "ends it"
        )


__all__ = ["REPORT_AFTER_S", "OpenTransactions"]
