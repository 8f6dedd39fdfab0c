"""APIs of settings and quotas.

Called by ``broker.core.broker`` through ``registry``, for requests of these APIs. They may import ``core.requests``,
``core.administration``, ``core.limits`` and ``broker.metadata``.
"""
