"""``oncelog verify copy``: is each committed record of a topic once in another one, in its key's order?

Called by ``oncelog verify copy``. It may import the rest of ``apps.verify``, ``apps.mirror`` and ``client.aio``.
"""
