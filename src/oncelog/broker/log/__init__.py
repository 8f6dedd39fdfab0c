"""A partition's log in Apache Kafka's files: segments, indexes, producer state, recovery, retention, compaction.

Called by ``broker.core``, by the tools that read stopped folders, and by nothing else. It may import ``protocol``,
``records``, ``settings`` and ``runtime``; it accesses files through ``runtime.ports.Disk``.
"""
