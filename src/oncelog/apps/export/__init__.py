"""``oncelog export``: the committed records of a topic as a table in files, each record once.

Called by ``oncelog.cli.records.export``. :mod:`~oncelog.apps.export.exporting` reads; an
:class:`~oncelog.apps.export.target.ExportTarget` stores rows and the position after them in one step, so that a run
that was killed is continued by the next; :mod:`~oncelog.apps.export.typed` makes columns from the schemas of a
registry.
"""
