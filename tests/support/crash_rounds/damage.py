"""What a crash may do to files that were not synced, done to the folder of a killed broker.

Nothing here removes what a sync had promised: something half-written is added after the last batch, and files that
follow from the log (indexes, snapshots, checkpoints) are removed or spoilt where the broker may not trust them, which
is past the recovery point. ``damage`` returns what it did, for the report.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

CHECKPOINTS = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "cleaner-offset-checkpoint")
_HEADER = struct.Struct(">qi")


def damage(data: Path, rng: random.Random, kinds: int) -> list[str]:
    """Do ``kinds`` damages, each drawn separately; returns a line for each, kind first."""
    done = []
    for _ in range(kinds):
        chosen = rng.choice(_DAMAGES)
        text = chosen(data, rng)
        if text is not None:
            done.append(f"{chosen.__name__.replace('_', ' ')}: {text}")
    return done


def _partition_folders(data: Path) -> list[Path]:
    return sorted(path.parent for path in data.glob("*-*/partition.metadata"))


def _newest_log(data: Path, rng: random.Random) -> Path:
    return max(rng.choice(_partition_folders(data)).glob("*.log"))


def _append(path: Path, what: str, content: bytes) -> str:
    with path.open("ab") as file:
        file.write(content)
    return f"{len(content)} bytes of {what} behind {path.parent.name}/{path.name}"


def torn_batch(data: Path, rng: random.Random) -> str | None:
    """The next batch, of which only the first part was written."""
    path = _newest_log(data, rng)
    content = path.read_bytes()
    position, last = 0, b""
    while position + _HEADER.size <= len(content):
        _, length = _HEADER.unpack_from(content, position)
        if length <= 0 or position + _HEADER.size + length > len(content):
            break
        last = content[position : position + _HEADER.size + length]
        position += len(last)
    if position < len(content) or not last:
        return None
    (base, length), delta = _HEADER.unpack_from(last), struct.unpack_from(">i", last, 23)[0]
    batch = _HEADER.pack(base + delta + 1, length) + last[_HEADER.size :]
    return _append(path, "a torn batch", batch[: rng.randrange(1, len(batch))])


def zeroed_tail(data: Path, rng: random.Random) -> str:
    """The file had grown, its new blocks had not been written."""
    return _append(_newest_log(data, rng), "zeros", bytes(rng.randrange(1, 10_000)))


def garbage_tail(data: Path, rng: random.Random) -> str:
    return _append(_newest_log(data, rng), "garbage", rng.randbytes(rng.randrange(1, 10_000)))


def _recovery_points(data: Path) -> dict[str, int]:
    """Nothing if the checkpoint is spoilt already: then the broker checks every log from its start."""
    path = data / CHECKPOINTS[0]
    points = {}
    for line in path.read_text(errors="replace").splitlines()[2:] if path.exists() else []:
        parts = line.split()
        if len(parts) == 3 and parts[1].isdecimal() and parts[2].isdecimal():
            points[f"{parts[0]}-{parts[1]}"] = int(parts[2])
    return points


def _unsynced_segments(data: Path) -> list[Path]:
    """Segments that reach past the recovery point."""
    points = _recovery_points(data)
    found = []
    for folder in _partition_folders(data):
        logs = sorted(folder.glob("*.log"))
        for path, later in zip(logs, [*logs[1:], None], strict=True):
            if later is None or int(later.stem) > points.get(folder.name, 0):
                found.append(path)
    return found


def spoilt_index(data: Path, rng: random.Random) -> str | None:
    """One index of a segment is missing, cut, or holds something else."""
    kind = rng.choice([".index", ".timeindex", ".txnindex"])
    paths = [path for log in _unsynced_segments(data) if (path := log.with_suffix(kind)).exists()]
    return _spoil(rng.choice(paths), rng) if paths else None


def spoilt_snapshot(data: Path, rng: random.Random) -> str | None:
    paths = sorted(data.glob("*-*/*.snapshot"))
    return _spoil(rng.choice(paths), rng) if paths else None


def spoilt_checkpoint(data: Path, rng: random.Random) -> str | None:
    """A checkpoint of the folder, or the leader epochs of one partition."""
    paths = [path for name in CHECKPOINTS if (path := data / name).exists()]
    paths += rng.sample(sorted(data.glob("*-*/leader-epoch-checkpoint")), 1)
    return _spoil(rng.choice(paths), rng) if paths else None


def _spoil(path: Path, rng: random.Random) -> str:
    name = f"{path.parent.name}/{path.name}"
    match rng.randrange(3):
        case 0:
            path.unlink()
            return f"{name} removed"
        case 1:
            content = path.read_bytes()
            path.write_bytes(content[: rng.randrange(len(content) + 1)])
            return f"{name} cut"
        case _:
            path.write_bytes(rng.randbytes(rng.randrange(1, 500)))
            return f"{name} overwritten"


_DAMAGES: tuple[Callable[[Path, random.Random], str | None], ...] = (
    torn_batch,
    zeroed_tail,
    garbage_tail,
    spoilt_index,
    spoilt_index,
    spoilt_snapshot,
    spoilt_checkpoint,
)
