"""A consumer's membership of its group, under both protocols.

Called by ``client.aio.consumer``. It may import ``core.consumer``, ``core.connection``, ``protocol`` and ``runtime``.
"""
