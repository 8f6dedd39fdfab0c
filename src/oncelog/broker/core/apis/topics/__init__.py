"""APIs about topics.

Called by ``broker.core.broker`` through ``registry``, for requests of these APIs. They may import ``core.requests``,
``core.security``, ``core.limits``, ``core.administration`` and ``broker.metadata``.
"""
