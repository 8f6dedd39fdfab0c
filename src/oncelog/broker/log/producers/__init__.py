"""A partition's state of its producers: epochs, sequences, open transactions, verifications.

Called by the log's writer, its recovery and, for verification, by ``core.appending``; ``producer_rules`` decides when
an append is refused. It may import ``records``, ``runtime`` and ``log.file_names``.
"""
