"""Access to a cluster: leaders and coordinators, connections to the brokers, TLS and logins.

Called by the other packages of ``client.aio``, and by ``spark.kafka`` and ``apps.proxy``. It may import
``client.core.connection``, ``protocol`` and ``runtime``.
"""
