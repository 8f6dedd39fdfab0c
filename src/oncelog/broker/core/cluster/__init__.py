"""Leaders and in-sync replicas of partitions, on one node or on several simulated ones.

Called by most of ``core`` and by ``broker.server``. It may import ``types`` and ``errors`` only.
"""
