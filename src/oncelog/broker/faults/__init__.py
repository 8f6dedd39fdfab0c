"""Faults by name inside our broker: lose an answer, cut a connection, return an error, delay, repeat.

Called by ``oncelog.Broker`` and the pytest fixtures. ``rules`` decides which request meets which fault; the proxy in
:mod:`oncelog.apps.proxy` follows the same rules in front of any broker.
"""
