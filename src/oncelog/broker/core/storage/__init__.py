"""Partitions and their logs: opening, syncing and compacting them, and syncing the metadata file.

Called by ``core.broker``, ``core.appending``, ``core.administration`` and handlers. It may import ``broker.log``,
``broker.metadata``, ``core.requests`` and ``core.cluster``.
"""
