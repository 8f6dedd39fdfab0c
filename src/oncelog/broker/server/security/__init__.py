"""TLS and logins of listeners.

Called by ``server.listeners`` and ``server.connections``. It may import ``core.login``, ``broker.metadata`` and
``runtime``.
"""
