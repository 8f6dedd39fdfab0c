"""Share groups at their coordinators (KIP-932): members and targets, and the stored state of share partitions.

Called by the handlers of share groups, by the group coordinator's ``shard``, and by ``core.sharing``. It may import
``coordinator.group``, ``protocol`` and ``runtime``.
"""
