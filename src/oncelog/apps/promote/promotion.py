"""Builds the target of a promotion: copies or links the files, lets decided transactions be completed, and writes the
metadata.

Called by the command. The partition folders have Kafka's format already; what is generated is the metadata, as one
snapshot of ``__cluster_metadata-0``, and ``server.properties``. A killed process leaves the source intact and no
target. Invariant: the target has no decided transaction that lacks markers. A Kafka node on its own forgets markers
still to be sent before its partitions have leaders, so such transactions would stay invisible; and Kafka up to 4.4 sets
the producer epoch back if the producer had kept the transaction (KIP-939).
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from oncelog.apps.promote.completion import complete_decided
from oncelog.apps.promote.folders import SERVER_PROPERTIES, partial_of, remove_source
from oncelog.apps.promote.kraft import read_snapshot
from oncelog.apps.promote.plan import Mode, PromotionPlan
from oncelog.apps.promote.promote_errors import PromotionError
from oncelog.apps.promote.unfinished_transactions import unfinished_transactions
from oncelog.broker.log.checkpoints import write_meta_properties
from oncelog.broker.metadata.adoption import CLUSTER_METADATA_FOLDER
from oncelog.broker.server.disk.os_disk import OsDisk
from oncelog.errors import OncelogError
from oncelog.settings.properties_file import dump_properties

Advance = Callable[[int, str], None]


def promote(plan: PromotionPlan, mode: Mode, advance: Advance = lambda amount, text: None) -> PromotionPlan:
    """Build the target; with ``move`` the source is removed once the target is complete and on stable storage.

    Returns the plan as it was carried out.
    """
    partial = partial_of(plan.target)
    try:
        if partial.exists():
            shutil.rmtree(partial)  # a promotion that was killed left this folder behind
        # The target gets the permissions of the source's folder.
        partial.mkdir(mode=stat.S_IMODE(plan.source.stat().st_mode), parents=True)
        for item in plan.items:
            _take(plan.source / item.path, partial / item.path, linked=item.linked)
            advance(item.size_bytes, item.path.partition("/")[0])
        plan = _write_metadata(plan, partial)
        os.sync()
        if plan.target.exists():
            plan.target.rmdir()
        partial.rename(plan.target)
    except (OSError, OncelogError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise PromotionError(
            f"cannot build {plan.target}: {error}; the data folder {plan.source} is as it was"
        ) from error
    os.sync()
    if mode == "move":
        remove_source(plan.source, plan.target)
    return plan


def _take(source: Path, target: Path, *, linked: bool) -> None:
    target.parent.mkdir(exist_ok=True)
    if linked:
        try:
            os.link(source, target)
            return
        except OSError:  # the target is on another file system, or on a file system without hard links
            pass
    shutil.copy2(source, target)


def _write_metadata(plan: PromotionPlan, folder: Path) -> PromotionPlan:
    disk = OsDisk(str(folder), shared=[item.path for item in plan.items if item.linked])
    write_meta_properties(disk, plan.identity)
    if plan.decided_transactions:
        plan = _complete(plan, disk)
    metadata = folder / CLUSTER_METADATA_FOLDER
    metadata.mkdir()
    snapshot = metadata / plan.snapshot.name
    snapshot.write_bytes(plan.snapshot.data)
    if read_snapshot(snapshot.read_bytes()) != plan.snapshot.records:
        raise PromotionError(f"the snapshot {snapshot.name} does not read back as it was written")
    properties = folder / SERVER_PROPERTIES
    properties.touch(mode=0o600 if plan.secrets else 0o666)
    properties.write_text(f"# Made by oncelog promote\n{dump_properties(plan.properties)}", encoding="ascii")
    return plan


def _complete(plan: PromotionPlan, disk: OsDisk) -> PromotionPlan:
    """Complete the decided transactions in the target."""
    complete_decided(disk, plan.metadata.path, plan.metadata.config, plan.metadata.now_ms)
    left = [item.transactional_id for item in unfinished_transactions(disk) if item.decided]
    if left:
        raise PromotionError(f"{len(left)} decided transactions could not be completed ({', '.join(left[:3])})")
    # read the metadata again: completing the transactions used epochs, which must not be used twice
    with plan.metadata.opened() as store:
        return replace(plan, snapshot=plan.metadata.snapshot(store), next_producer_id=store.producer_ids.end)
