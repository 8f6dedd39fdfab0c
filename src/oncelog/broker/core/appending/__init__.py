"""Appends the batches of Produce requests to partition logs.

``pipeline`` is the general path; ``produce_runs`` is the compiled path for batches that continue their producers'
sequences. On the general path a worker thread may validate a batch (``validation_thread``), and ``verification`` asks a
transaction's coordinator.
"""
