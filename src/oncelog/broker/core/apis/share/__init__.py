"""APIs of share groups (KIP-932).

Called by ``broker.core.broker`` through ``registry``, for requests of these APIs. They may import ``core.requests``,
``core.security``, ``core.sharing``, ``core.fetching`` and ``coordinator.share``.
"""
