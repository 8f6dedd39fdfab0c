"""The common part of all clients, without I/O: batches, positions, membership, transactions, as state machines. Pure.

Called by ``client.aio``, which carries requests out; ``client.blocking`` and programs use its arguments, errors and
types. It may import ``protocol``, ``records``, ``schemas``, ``settings`` and ``runtime``, never the broker.
"""
