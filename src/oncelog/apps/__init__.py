"""Programs built on the product: the code of ``oncelog verify``, ``mirror``, ``console`` and other commands.

Called by :mod:`oncelog.cli`, and by :mod:`oncelog.testing` for its checks. They may import everything below: clients,
pipelines, broker. Nothing below imports them.
"""
