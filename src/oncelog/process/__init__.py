"""The process that oncelog runs in: its real clocks, its forked children, its threads with an event loop."""
