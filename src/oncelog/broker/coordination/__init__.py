"""The host of both coordinators, the order of a group's commits, and commits that repeat the one before."""
