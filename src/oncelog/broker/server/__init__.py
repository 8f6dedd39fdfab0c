"""The broker's shell: sockets, TLS and logins, disks, worker threads, and the process of ``oncelog serve``.

Called by :mod:`oncelog.embedded` and ``oncelog serve``. It hands received frames to ``broker.core`` on one event loop
and sends what the core answers; of the broker it may import everything but ``faults``.
"""
