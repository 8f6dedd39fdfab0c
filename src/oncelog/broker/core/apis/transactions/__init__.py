"""APIs of producer ids and transactions.

Called by ``broker.core.broker`` through ``registry``, for requests of these APIs. They may import ``core.requests``,
``core.security``, ``coordinator.transaction`` and ``coordinator.group``.
"""
