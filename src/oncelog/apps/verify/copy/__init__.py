"""``oncelog verify copy``: checks that each committed record of a topic is in another topic once, in its key's order.

Called by ``oncelog verify copy``. It may import the rest of ``apps.verify``, ``apps.mirror`` and ``client.aio``.
"""
