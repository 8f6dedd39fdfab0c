"""APIs of ACLs, SCRAM users and logins.

Called by ``broker.core.broker`` through ``registry``, for requests of these APIs. They may import ``core.requests``,
``core.security`` and ``protocol``.
"""
