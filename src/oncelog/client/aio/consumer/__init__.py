"""The asyncio consumer: its group, its starting offsets, and how records are returned.

Called by programs and ``client.blocking``. It may import ``client.aio.connection``, ``client.core.consumer`` and
``client.core.group``.
"""
