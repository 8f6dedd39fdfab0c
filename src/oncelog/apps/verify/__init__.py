"""``oncelog verify``: says of logs, copies and pipelines what contradicts exactly-once.

Checks are pure and read a stream of batches (:mod:`oncelog.apps.verify.partition_check`); what reads them from a broker
or a folder is apart. Called by the command line, by :mod:`oncelog.testing` and by the tests.
"""
