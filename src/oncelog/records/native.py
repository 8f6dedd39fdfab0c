"""Chooses the record codec: the compiled module if it exists, otherwise the one in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oncelog.records import _pure, _pure_scan
from oncelog.runtime.compiled import import_compiled

compiled: Any
compiled, why_pure = import_compiled("oncelog.records._native")
"""The compiled module, or None, and the reason why there is none. :mod:`oncelog.records.arrow` needs them, because its
classes without the compiled module have other names."""

if TYPE_CHECKING or compiled is None:
    BatchScanner = _pure_scan.BatchScanner
    RecordArea = _pure.RecordArea
    assign_offsets = _pure.assign_offsets
    columns = _pure.columns
    consumer_records = _pure.consumer_records
    decode = _pure.decode
    encode_pairs = _pure.encode_pairs
    murmur2 = _pure.murmur2
    seek = _pure.seek
    walk = _pure.walk
else:
    BatchScanner = compiled.BatchScanner
    RecordArea = compiled.RecordArea
    assign_offsets = compiled.assign_offsets
    columns = compiled.columns
    consumer_records = compiled.consumer_records
    decode = compiled.decode
    encode_pairs = compiled.encode_pairs
    murmur2 = compiled.murmur2
    seek = compiled.seek
    walk = compiled.walk

Scanned = _pure_scan.Scanned

__all__ = [
    "BatchScanner",
    "RecordArea",
    "Scanned",
    "assign_offsets",
    "codec",
    "columns",
    "compiled",
    "consumer_records",
    "decode",
    "encode_pairs",
    "murmur2",
    "seek",
    "walk",
    "why_pure",
]


def codec() -> str:
    """Name the record codec in use and, if it is the slower one, the reason."""
    return "compiled" if compiled is not None else f"pure Python, slower ({why_pure})"
