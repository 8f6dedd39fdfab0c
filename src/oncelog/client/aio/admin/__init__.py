"""The asyncio admin client, divided by subject, and what is built on it.

Called by programs, ``client.blocking``, commands and ``apps``. It may import ``client.aio.connection`` and
``client.core.admin``.
"""
