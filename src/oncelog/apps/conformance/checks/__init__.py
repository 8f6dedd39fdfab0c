"""The checks, a module for each area."""
