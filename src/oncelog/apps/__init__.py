"""Programs built on oncelog's broker, clients and pipelines: the code of ``oncelog verify``, ``mirror``, ``console``
and other commands.

Called by :mod:`oncelog.cli`, and by :mod:`oncelog.testing` for its checks. They may import clients, pipelines and
broker. Nothing of these imports them.
"""
