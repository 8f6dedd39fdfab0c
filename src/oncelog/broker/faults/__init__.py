"""Faults by name inside this broker: lose an answer, cut a connection, return an error, delay, repeat.

Called by ``oncelog.Broker`` and the pytest fixtures. ``rules`` decides which fault hits which request; the proxy in
:mod:`oncelog.apps.proxy` follows the same rules in front of any broker.
"""
