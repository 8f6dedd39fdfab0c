"""The asyncio producer: accepts records and sends them.

Called by programs and ``client.blocking``. It may import ``client.aio.connection``, ``client.core.batches``,
``client.core.producer`` and ``client.core.transactions``.
"""
