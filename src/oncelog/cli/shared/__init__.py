"""What commands share: options, output, properties, completion of names, signals, and what is said of waits.

Called by all commands. It may import ``client``, ``schemas`` and ``settings``, when an option needs them.
"""
