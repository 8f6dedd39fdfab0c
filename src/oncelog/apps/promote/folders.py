"""The folders in which a promotion builds the target, and the removal of the data folder afterwards (``--move``).

Called by ``plan``, ``promotion`` and the command. The target is built next to its final name and renamed to that name
in one step. A data folder that is to be removed is renamed in one step, too, so that no broker can start on a part of
it.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Final

from oncelog.apps.promote.promote_errors import PromotionError
from oncelog.broker.log.checkpoints import CLEAN_SHUTDOWN, META_PROPERTIES, OFFSET_CHECKPOINTS, read_meta_properties
from oncelog.broker.log.file_names import is_temporary
from oncelog.broker.metadata.adoption import CLUSTER_METADATA_FOLDER
from oncelog.broker.server.disk.os_disk import OsDisk

SERVER_PROPERTIES: Final = "server.properties"
_MADE: Final = (META_PROPERTIES, CLUSTER_METADATA_FOLDER, SERVER_PROPERTIES, CLEAN_SHUTDOWN, *OFFSET_CHECKPOINTS)
"""The files that a promotion creates in the target, besides the files of the source."""


def partial_of(target: Path) -> Path:
    """The folder in which the target is built."""
    return target.with_name(f"{target.name}.partial")


def check_partial(partial: Path, names: Collection[str]) -> None:
    """Check that a folder at the place where the target is built was left by a killed promotion, so that it may be
    removed."""
    made = {*names, *_MADE}
    if not partial.is_symlink() and not partial.exists():
        return
    if partial.is_symlink() or not partial.is_dir():
        strange = [partial.name]
    else:
        found = {entry.name: entry.name for entry in partial.iterdir()}
        found |= {name: name.rsplit(".", 2)[0] for name in found if is_temporary(name)}
        strange = sorted(name for name, final in found.items() if final not in made)
    if strange:
        raise PromotionError(
            f"{partial}, where the target would be built, contains {strange[0]}, which no promotion has left there: "
            f"move it away, or remove it"
        )


def is_node_of(target: Path, source: Path) -> bool:
    """Whether the target is a node made from the source, judged by their ``meta.properties``."""
    if not (target / SERVER_PROPERTIES).is_file() or not source.is_dir():
        return False
    made, known = read_meta_properties(OsDisk(str(target))), read_meta_properties(OsDisk(str(source)))
    if made is None or known is None:
        return False
    return made == known._replace(directory_id=known.directory_id or made.directory_id)


def promoted_of(source: Path) -> Path:
    """The name to which a source is renamed before it is removed, so that a broker started on the old name finds no
    part of the folder."""
    return source.with_name(f"{source.name}.promoted")


def remove_source(source: Path, target: Path) -> None:
    """Rename the source, then remove it; call this when the target is complete. If the process is killed in between,
    :func:`finish_move` removes the rest."""
    promoted = promoted_of(source)
    try:
        source.rename(promoted)
    except OSError as error:  # for example because the source is a mount point
        raise PromotionError(
            f"{target} is complete, but the old data folder {source} could not be removed: {error}; "
            f"remove it, and start no broker on it"
        ) from error
    _remove(promoted, target)


def finish_move(source: Path, target: Path) -> bool:
    """Remove what is left of the source if a promotion with ``--move`` was killed while removing it; returns whether
    that was so."""
    source, target = source.resolve(), target.resolve()
    promoted = promoted_of(source)
    if source.exists() or not promoted.is_dir() or promoted.is_symlink() or not (target / SERVER_PROPERTIES).is_file():
        return False
    if any(promoted.iterdir()) and not is_node_of(target, promoted):
        return False
    _remove(promoted, target)
    return True


def _remove(promoted: Path, target: Path) -> None:
    """Remove the folder; the file that identifies its owner is removed last."""
    try:
        for entry in sorted(promoted.iterdir(), key=lambda entry: entry.name == META_PROPERTIES):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        promoted.rmdir()
    except OSError as error:
        raise PromotionError(
            f"{target} is complete, but the old data folder, now {promoted}, could not be removed: {error}; "
            "repeat the command, or remove the old folder by hand"
        ) from error
