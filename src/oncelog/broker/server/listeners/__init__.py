"""Listening addresses at run time: their sockets, and changes of them while the broker runs.

Called by ``server``. It may import ``server.connections``, ``server.security``, ``core.login`` and ``core.cluster``.
"""
