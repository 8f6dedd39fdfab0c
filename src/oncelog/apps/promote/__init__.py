"""``oncelog promote``: the data folder of a stopped broker becomes the storage of an Apache Kafka node.

Called by ``oncelog.cli.programs.promote``. :mod:`~oncelog.apps.promote.plan` determines what will be done, without
writing anything, and :mod:`~oncelog.apps.promote.promotion` does it. :mod:`~oncelog.apps.promote.kraft` has the
metadata as a snapshot, :mod:`~oncelog.apps.promote.listeners` addresses and logins, and
:mod:`~oncelog.apps.promote.completion` has the broker's core finish decided transactions.
"""
