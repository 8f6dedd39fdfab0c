"""The last stable offset and the high watermark never go back, and the first never passes the second."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.types import TopicPartition
from tests.simulation.history import History, Sample


def check(history: History) -> Sequence[str]:
    found = []
    last: dict[TopicPartition, Sample] = {}
    for sample in history.samples:
        if sample.last_stable_offset > sample.high_watermark:
            found.append(f"{sample}: the last stable offset is above the high watermark")
        before = last.get(sample.where)
        if before is not None:
            if sample.last_stable_offset < before.last_stable_offset:
                found.append(
                    f"the last stable offset of {sample.where} went back from {before.last_stable_offset} to "
                    f"{sample.last_stable_offset}"
                )
            if sample.high_watermark < before.high_watermark:
                found.append(
                    f"the high watermark of {sample.where} went back from {before.high_watermark} to "
                    f"{sample.high_watermark}"
                )
        last[sample.where] = sample
    return found
