"""What a partition knows of its producers: epochs, sequences, open transactions, verifications.

Called by the log's writer, its recovery and, for verification, by ``core.appending``; ``producer_rules`` decides when
an append is refused. It may import ``records``, ``runtime`` and the names of files.
"""
