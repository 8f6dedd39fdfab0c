"""The broker: answers Kafka's protocol and keeps the log.

Called by :mod:`oncelog.embedded`, ``oncelog serve`` and, for stopped folders, by :mod:`oncelog.apps`. It may import
``settings``, ``protocol``, ``records`` and ``runtime``, never a client: ``server`` (sockets, disks, threads) calls
``core`` (what a request does), which calls ``coordinator`` and ``metadata``, which call ``log``.
"""
