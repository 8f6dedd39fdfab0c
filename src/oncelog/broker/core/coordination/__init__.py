"""The host of the coordinators of groups, transactions and share groups, and patterns of repeated commits.

Called by ``core.broker`` and ``core.administration``. It joins ``broker.coordinator``, which reaches no partition, to
the partitions of ``core.storage``: appends their records, and writes a transaction's markers.
"""
