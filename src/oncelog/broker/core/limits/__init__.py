"""Limits on requests and answers: memory, quotas, and how many partitions a caller may create or delete."""
