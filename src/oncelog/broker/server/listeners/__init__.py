"""Listening addresses at run time: their sockets, and changes of them while the broker runs."""
