"""The consumer: its subscription, what it fetches from which broker, and what a reader may see.

Called by ``client.aio.consumer`` and ``core.group``. It may import ``core.connection``, ``protocol`` and ``records``.
"""
