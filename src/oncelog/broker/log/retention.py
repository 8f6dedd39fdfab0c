"""Decides which segments a topic's settings no longer retain: the oldest ones, up to the first that must stay. Called
by ``LogTrimmer.apply_retention``.

Source: Kafka's ``UnifiedLog.deleteOldSegments``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from oncelog.broker.log.segments.segment import Segment
from oncelog.settings.config import TopicConfig


class Bounds(Protocol):
    """The offsets of a log that retention depends on, besides its segments."""

    log_start_offset: int
    log_end_offset: int
    high_watermark: int


def segments_to_drop(segments: Sequence[Segment], config: TopicConfig, log: Bounds, now_ms: int) -> int:
    """The number of segments to drop, from the oldest on; the last one may be included if it is not empty."""
    excess_bytes = sum(segment.size_bytes for segment in segments) - config.retention_bytes
    if config.retention_bytes < 0 or "delete" not in config.cleanup_policy:
        excess_bytes = -1
    for count, segment in enumerate(segments):
        last = count + 1 == len(segments)
        end_offset = log.log_end_offset if last else segments[count + 1].base_offset
        if log.high_watermark < end_offset or (last and not segment.size_bytes):
            return count
        if not (
            (not last and end_offset <= log.log_start_offset)
            or excess_bytes >= segment.size_bytes
            or _too_old(segment, config, now_ms)
        ):
            return count
        excess_bytes -= segment.size_bytes
    return len(segments)


def _too_old(segment: Segment, config: TopicConfig, now_ms: int) -> bool:
    if config.retention_ms < 0 or "delete" not in config.cleanup_policy:
        return False
    return now_ms - segment.latest_ms() > config.retention_ms
