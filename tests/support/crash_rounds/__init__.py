"""Rounds of load, kill, damage, restart and proof against ``oncelog serve`` in a process of its own.

``python -m tests.support.crash_rounds --rounds 500`` runs them; ``tests/integration/crash`` runs a few. One folder and
one set of clients live through several rounds, so a client that continues after the restart continues with its
sequences.

``node`` starts and kills the process, ``damage`` does to its files what a crash may do, ``actors`` are the
clients that write, ``proof`` compares what consumers see with what the actors were told, ``rounds`` is the loop.
"""
