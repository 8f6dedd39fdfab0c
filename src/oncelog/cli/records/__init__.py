"""Commands that write, read and show records."""
