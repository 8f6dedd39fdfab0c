"""``oncelog promote``: turns the data folder of a stopped broker into the storage of an Apache Kafka node.

Called by ``oncelog.cli.programs.promote``. :mod:`~oncelog.apps.promote.plan` determines what will be done without
writing anything, and :mod:`~oncelog.apps.promote.promotion` does it. :mod:`~oncelog.apps.promote.kraft` writes the
metadata as a snapshot, :mod:`~oncelog.apps.promote.listeners` determines addresses and logins, and
:mod:`~oncelog.apps.promote.completion` lets the broker's core complete decided transactions.
"""
