"""The way of a batch from a Produce request into its partition's log.

``pipeline`` is the general way, ``produce_runs`` the compiled one for batches that continue where their producers
stopped. ``validation_thread`` and ``large_writes`` are what the general way may have done by another thread, and
``verification`` asks a transaction's coordinator.
"""
