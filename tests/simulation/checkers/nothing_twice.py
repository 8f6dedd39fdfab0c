"""No record is stored twice, however often its producer sent it.

One exception: if its partition has forgotten the producer in between, Apache Kafka stores a second copy, too
(``forgotten``); not in a transaction, which keeps its producer known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from oncelog.types import TopicPartition
from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    copies: dict[bytes, list[tuple[TopicPartition, int]]] = defaultdict(list)
    for where, log in history.uncommitted.items():
        for offset, value in log:
            copies[value].append((where, offset))
    found = []
    for sent in history.sent:
        places = copies.pop(sent.value, [])
        if len(places) < 2 or sent.producer.partition(".")[0] in history.repeats:
            continue
        if sent.transaction is None and _is_excused(history, sent.value, places):
            continue
        found.append(f"{sent.value!r} is stored {len(places)} times")
    return found


def _is_excused(history: History, value: bytes, places: Sequence[tuple[TopicPartition, int]]) -> bool:
    producer_ids = {producer_id for stored, producer_id in history.producers if stored == value}
    return len(producer_ids) == 1 and all(
        any(
            where == again and producer_id in producer_ids and before < end_offset <= after
            for where, producer_id, end_offset in history.forgotten
        )
        for (where, before), (again, after) in pairwise(places)
    )
