"""Rows and records under kill -9: programs with ``oncelog.atomic``, killed at every point.

``postgres`` runs a PostgreSQL of its own, ``databases`` opens either database, ``writer`` is what is killed, ``points``
says where.
"""
