"""The host of the coordinators of groups, transactions and share groups, and patterns of repeated commits.

Called by ``core.broker`` and ``core.administration``. It connects the coordinators, which have no access to partitions,
with the partitions of ``core.storage``: it appends the coordinators' records and writes transactions' markers.
"""
