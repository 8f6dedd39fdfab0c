"""``oncelog doctor``: checks of this machine, of a cluster, and of pipelines.

Called by ``cli.main`` and ``cli.programs``. It may import ``cli.shared``, ``client``, ``spark`` and ``schemas``.
"""
