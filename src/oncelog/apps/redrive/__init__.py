"""``oncelog redrive``: dead letters go back to where they came from, each once.

Called by ``oncelog.cli.programs.redrive``. :mod:`~oncelog.apps.redrive.dead_letters` (what becomes of a dead letter) is
pure; :mod:`~oncelog.apps.redrive.redriving` reads and writes through ``client.aio``, on any cluster. The headers of a
dead letter are written by ``oncelog.spark.pipeline``.
"""
