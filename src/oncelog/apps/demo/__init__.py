"""``oncelog demo``: the main job on a year of real flights, with crashes, and the proof that each counts once.

Called by the command line alone. Nothing is imported here; :mod:`oncelog.apps.demo.run` is the way in.
"""
