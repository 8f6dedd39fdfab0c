"""The broker's shell: sockets, TLS and logins, disks, worker threads, and the process of ``oncelog serve``.

Called by :mod:`oncelog.embedded` and ``oncelog serve``. It passes received frames to ``broker.core`` on one event loop
and sends the answers; of the broker it may import everything except ``faults``.
"""
