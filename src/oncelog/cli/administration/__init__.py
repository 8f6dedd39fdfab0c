"""Commands that look after a cluster: topics, groups, transactions, settings, rights, users."""
