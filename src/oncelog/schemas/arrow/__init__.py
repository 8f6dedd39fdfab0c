"""Records with schemas as Arrow columns, and Arrow columns as such records: what Spark's workers call.

A value becomes cells of columns without an object of its own for each row. pyarrow is imported by the modules here, and
by no other of :mod:`oncelog.schemas`.
"""
