"""APIs of nodes and of the cluster as a whole.

Called by ``broker.core.broker`` through ``registry``, for requests of these APIs. They may import ``core.requests``,
``core.security``, ``core.cluster`` and ``broker.metadata``.
"""
