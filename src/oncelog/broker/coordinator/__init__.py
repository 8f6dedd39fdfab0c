"""The coordinators of groups and transactions: pure rules, and a runtime that appends, applies and then answers.

Called by ``broker.core.coordination``. It may import ``protocol``, ``records``, ``settings``, ``runtime`` and, of the
broker, ``log`` alone; it accesses partitions only through functions that the core passes to it.
"""
