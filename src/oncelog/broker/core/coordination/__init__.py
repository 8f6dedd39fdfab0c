"""The host of both coordinators, the order of a group's commits, and patterns of repeated commits."""
