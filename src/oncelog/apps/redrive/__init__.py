"""``oncelog redrive``: sends dead letters back to the topics that they came from, each once.

Called by ``oncelog.cli.programs.redrive``. :mod:`~oncelog.apps.redrive.dead_letters` (what is done with a dead letter)
is pure; :mod:`~oncelog.apps.redrive.redriving` reads and writes through ``client.aio``, on any cluster. The headers of
a dead letter are written by ``oncelog.spark.pipeline``.
"""
