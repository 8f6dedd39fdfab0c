"""Topics, settings, credentials, ACLs and blocks of producer ids, in one SQLite file.

Called by ``broker.core`` and, when a data folder is opened, by ``broker.server``. It may import ``protocol``,
``settings`` and ``runtime``.
"""
