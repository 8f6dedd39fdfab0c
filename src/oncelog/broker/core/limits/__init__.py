"""Limits on requests and answers: memory, quotas, and how many partitions a caller may create or delete.

Called by ``core.broker`` and ``request_life``, by handlers, and by ``server.connections``. It may import
``core.requests``, ``protocol`` and ``runtime``.
"""
