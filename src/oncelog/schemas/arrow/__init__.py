"""Converts records with schemas to Arrow columns and back.

Called in Spark's workers. Values become cells without a Python object per row. pyarrow is imported by the modules here,
and by no other of :mod:`oncelog.schemas`.
"""
