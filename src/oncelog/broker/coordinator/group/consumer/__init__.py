"""Groups of the consumer protocol (KIP-848): state, rules, drafts of changes, assignors, reconciliation.

Called by the group coordinator's ``shard``; share groups use its drafts. It may import ``classic``, ``protocol``,
``runtime`` and what all groups share, in ``group``.
"""
