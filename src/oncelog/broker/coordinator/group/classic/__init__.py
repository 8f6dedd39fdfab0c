"""Groups of the classic protocol: state, rules, protocol and answers.

Called by the group coordinator's ``shard``, and by ``consumer`` for members of both protocols. It may import
``protocol``, ``runtime`` and what all groups share, in ``group``.
"""
