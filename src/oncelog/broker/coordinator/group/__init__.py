"""The group coordinator: groups of both protocols, and committed offsets.

Called by the handlers in ``core.apis`` through ``group_coordinator``, which finds the ``shard`` of a group; ``classic``
and ``consumer`` implement the protocols. It may import ``coordinator.runtime``, ``coordinator.share`` and below.
"""
