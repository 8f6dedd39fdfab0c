"""Faults by name between clients and any broker: lose an answer, cut a connection, return an error, delay, repeat.

:class:`oncelog.faults.proxy.FaultProxy` stands in front of a broker and carries them out; the rules are in ``rules``.
"""
