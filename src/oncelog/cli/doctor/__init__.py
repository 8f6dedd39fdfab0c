"""``oncelog doctor``: what is checked here, in a cluster, and of a pipeline.

Called by ``cli.main`` and ``cli.programs``. It may import ``cli.shared``, ``client``, ``spark`` and ``schemas``.
"""
