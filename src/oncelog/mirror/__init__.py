"""``oncelog mirror``: a cluster follows another one, live, a transaction whole or not at all.

Called by ``oncelog.cli.mirror``. Pure are :mod:`~oncelog.mirror.cut` (how far a round goes) and
:mod:`~oncelog.mirror.offset_map` (where a record of A is on B); the rest asks the two clusters with ``client.aio``.
"""
