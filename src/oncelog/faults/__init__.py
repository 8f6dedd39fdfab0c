"""Faults by name between clients and any broker: lose an answer, cut a connection, return an error, delay, repeat.

:class:`oncelog.faults.proxy.FaultProxy` sits in front of a broker and injects them; the rules are in ``rules``.
"""
