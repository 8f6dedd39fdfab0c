"""Administrative changes by operators: topics, replica assignments, settings, log levels, listeners.

Called by the handlers of topics and settings, and by ``core.broker``. It may import ``core.storage``,
``core.cluster``, ``core.coordination``, ``core.requests`` and ``broker.metadata``.
"""
