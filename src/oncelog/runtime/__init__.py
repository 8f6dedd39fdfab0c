"""What every program needs of its process, its clocks and the world around it, behind small interfaces.

Called by all other packages; it may import ``errors`` only. ``ports``, ``timers`` and ``deferred`` are pure, and what
the cores run on; ``forks``, ``listening``, ``loop_thread`` and ``real_time`` are the real process and clock.
"""
