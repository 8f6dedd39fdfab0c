"""The coordinators of groups and transactions: pure rules, and a runtime that appends, applies and then answers.

Called by ``broker.core.coordination``. It may import ``protocol``, ``records``, ``settings``, ``runtime`` and, of the
broker, ``log`` alone; partitions are reached through functions that the core hands over.
"""
