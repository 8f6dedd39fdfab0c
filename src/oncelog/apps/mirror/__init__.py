"""``oncelog mirror``: one cluster (the target) follows another (the source), live; each transaction is copied
completely or not at all.

Called by ``oncelog.cli.programs.mirror``. :mod:`~oncelog.apps.mirror.cut` (how far a round goes) and
:mod:`~oncelog.apps.mirror.offset_map` (where a record of the source is on the target) are pure; the rest uses
``client.aio`` for both clusters.
"""
