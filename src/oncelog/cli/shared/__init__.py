"""The common parts of commands: options, output, properties, completion of names, signals, and messages about waits.

Called by all commands. It may import ``client``, ``schemas`` and ``settings``, when an option needs them.
"""
