"""Commands that look after a cluster: topics, groups, transactions, settings, rights, users.

Called by ``cli.main``. They may import ``cli.shared``, ``client`` and ``schemas``.
"""
