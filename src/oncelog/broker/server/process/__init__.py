"""The process around the broker: clock, event loop, threads, file descriptors, log output."""
