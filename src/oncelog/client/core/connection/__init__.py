"""The cluster's metadata, and the interface to the network.

Called by the other packages of ``client.core`` and by ``client.aio.connection``. It may import ``protocol``,
``runtime`` and ``errors``.
"""
