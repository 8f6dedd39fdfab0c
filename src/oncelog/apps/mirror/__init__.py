"""``oncelog mirror``: copies topics of one cluster (the source) to another (the target) while records are written; each
transaction is copied completely or not at all.

Called by ``oncelog.cli.programs.mirror``. :mod:`~oncelog.apps.mirror.cut` (how far a round copies) and
:mod:`~oncelog.apps.mirror.offset_map` (which offset on the target a record of the source has) are pure; the rest uses
``client.aio`` for both clusters.
"""
