"""``oncelog promote``: the data folder of a stopped broker becomes the storage of an Apache Kafka node.

Called by ``oncelog.cli.programs.promote``. :mod:`~oncelog.promote.plan` says what will be done, without writing
anything, and :mod:`~oncelog.promote.promotion` does it. :mod:`~oncelog.promote.kraft` has the metadata as a snapshot,
:mod:`~oncelog.promote.listeners` addresses and logins, and :mod:`~oncelog.promote.completion` has the broker's core
finish what was decided.
"""
