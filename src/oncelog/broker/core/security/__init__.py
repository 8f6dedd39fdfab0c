"""Authorization of callers: ACLs, the permissions that each request needs, and the log of refusals.

Called by ``core.broker`` before a handler runs, and by handlers through ``access``. It may import ``core.requests`` and
``broker.metadata``, where ACLs are kept; ``core.login`` determines the caller.
"""
