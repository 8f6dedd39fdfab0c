"""Authentication: SASL, and the principals of client certificates.

Called by ``server.security`` and ``server.listeners``. It may import ``core.security``, ``core.requests`` and
``protocol``.
"""
