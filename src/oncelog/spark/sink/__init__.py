"""Writes micro-batches exactly once: plan, decision and transaction; here the driver carries the records."""
