"""APIs that write, read and inspect partitions.

Called by ``broker.core.broker`` through ``registry``, for requests of these APIs. They may import ``core.requests``,
``core.security``, ``core.appending``, ``core.fetching`` and ``core.storage``.
"""
