"""``oncelog demo``: the main use case on a year of real flights, with crashes, and the proof that each flight counts
once.

Called by the command line alone. Nothing is imported here; :mod:`oncelog.apps.demo.run` is the way in.
"""
