"""Commands that administer a cluster: topics, groups, transactions, settings, permissions, users.

Called by ``cli.main``. They may import ``cli.shared``, ``client`` and ``schemas``.
"""
