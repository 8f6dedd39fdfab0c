"""APIs of groups and their committed offsets.

Called by ``broker.core.broker`` through ``registry``, for requests of these APIs. They may import ``core.requests``,
``core.security`` and ``coordinator.group``.
"""
