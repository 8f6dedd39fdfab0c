"""Rows and records under kill -9: the program of ``docs/how-to/two-phase-commit.md``, killed at every point.

``postgres`` runs a PostgreSQL of its own, ``databases`` opens either database, ``writer`` is what is killed.
"""
