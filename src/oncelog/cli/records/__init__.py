"""Commands that write, read and show records.

Called by ``cli.main``. They may import ``cli.shared``, ``client``, ``apps.verify``, ``apps.export`` and
``broker.log``.
"""
