"""Small interfaces to the process, the clocks and the operating system, used by every program.

Called by all other packages; it may import ``errors`` only. ``ports``, ``timers`` and ``deferred`` are pure, and the
cores run on them; ``chance``, ``forks``, ``listening``, ``loop_thread`` and ``real_time`` are the real process and
clock.
"""
