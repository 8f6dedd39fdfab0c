"""``oncelog verify``: finds what contradicts exactly-once in logs, copies and pipelines.

Checks are pure and read a stream of batches (:mod:`oncelog.apps.verify.partition_check`); the code that reads batches
from a broker or a folder is separate. Called by the command line, by :mod:`oncelog.testing` and by the tests.
"""
