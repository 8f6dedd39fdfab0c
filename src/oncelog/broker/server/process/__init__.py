"""The process around the broker: clock, event loop, threads, file descriptors, log output.

Called by ``server`` and by commands that run something. It may import ``runtime`` only.
"""
