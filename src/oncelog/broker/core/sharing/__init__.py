"""Share groups at the partitions' leader (KIP-932): which member has acquired which records, and the sessions of
ShareFetch.

Called by the handlers of share groups. It may import ``coordinator.share``, ``core.storage``, ``core.requests`` and
``core.fetching``.
"""
