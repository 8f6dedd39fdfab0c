"""The producer: which batches are sent when and in which request, and what the answers mean.

Called by ``client.aio.producer``. It may import ``core.batches``, ``core.transactions``, ``core.connection`` and
``protocol``.
"""
