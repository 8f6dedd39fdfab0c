"""The data folder on disk or in memory: files, the lock, reserved space, and the scheduling of syncs.

Called by ``server``, by tools that read stopped folders, and by the simulation. It implements ``runtime.ports.Disk``,
and may import ``core.storage``, which decides what to sync.
"""
