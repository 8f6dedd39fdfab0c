"""``oncelog verify``: finds contradictions to exactly-once in logs, copies and pipelines.

The checks are pure and get a stream of batches (:mod:`oncelog.apps.verify.partition_check`); other modules read batches
from a broker or a folder. Called by the command line, by :mod:`oncelog.testing` and by the tests.
"""
