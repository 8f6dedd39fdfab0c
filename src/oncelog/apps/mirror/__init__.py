"""``oncelog mirror``: one cluster (B) follows another (A), live; each transaction is copied completely or not at all.

Called by ``oncelog.cli.programs.mirror``. :mod:`~oncelog.apps.mirror.cut` (how far a round goes) and
:mod:`~oncelog.apps.mirror.offset_map` (where a record of A is on B) are pure; the rest uses ``client.aio`` for both
clusters.
"""
