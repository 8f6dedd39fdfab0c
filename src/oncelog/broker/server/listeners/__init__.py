"""Listeners at run time: their sockets, and changes of listeners while the broker runs.

Called by ``server``. It may import ``server.connections``, ``server.security``, ``core.login`` and ``core.cluster``.
"""
