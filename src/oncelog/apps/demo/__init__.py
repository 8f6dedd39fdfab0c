"""``oncelog demo``: the main use case on a year of real flights, with crashes, and the proof that each flight counts
once.

Called by ``oncelog demo`` only, through :mod:`oncelog.apps.demo.run`. This file imports nothing.
"""
