"""From a record to a batch: its size, its partition, the queues of batches, and sequence numbers.

Called by ``client.aio.producer``, ``core.producer`` and ``core.transactions``. It may import ``records`` and
``core.connection``.
"""
