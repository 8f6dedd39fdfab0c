"""Client connections, plain and with TLS: receiving requests, sending answers, and limits on their number.

Called by ``server`` and ``server.listeners``. It may import ``core.requests``, ``core.limits``, ``server.security``
and ``runtime``.
"""
