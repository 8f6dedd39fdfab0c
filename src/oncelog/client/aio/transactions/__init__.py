"""Transactions as a ``with`` block, and transactions of encoded batches.

Called by ``client.aio.producer``, and for encoded batches by ``spark.kafka`` and ``apps.mirror``. It may import
``client.aio.connection`` and ``client.core.transactions``.
"""
