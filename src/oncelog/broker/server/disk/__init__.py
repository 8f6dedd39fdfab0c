"""The data folder on disk or in memory: files, the lock, reserved space, and the scheduling of syncs."""
