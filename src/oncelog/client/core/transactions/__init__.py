"""Transactions of a producer: identity, epochs, states, and the requests to the coordinator.

Called by ``client.aio.producer``, ``client.aio.transactions`` and ``core.producer``. It may import ``core.batches``,
``core.connection``, ``protocol`` and ``runtime``.
"""
