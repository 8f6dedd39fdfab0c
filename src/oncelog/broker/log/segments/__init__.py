"""The segments of one partition: ``.log`` files, and their indexes of offsets, times and aborted transactions.

Called by ``broker.log``, and by tools that read stopped folders. It may import ``records``, ``runtime``, ``settings``,
and of the log ``file_names`` and ``results``.
"""
