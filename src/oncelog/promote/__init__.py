"""``oncelog promote``: the data folder of a stopped broker becomes the storage of an Apache Kafka node.

Called by ``oncelog.cli.promote``. :mod:`~oncelog.promote.promotion` plans it and carries it out;
:mod:`~oncelog.promote.kraft` has the metadata as a snapshot, :mod:`~oncelog.promote.listeners` addresses and logins,
and :mod:`~oncelog.promote.completion` has the broker's core finish what was decided.
"""
