"""Arrow columns for values of a registry's schemas: Avro, JSON Schema and Protobuf.

A schema becomes a :class:`~oncelog.apps.export.typed.shape.Shape`: a type, and what makes its values of those that the
codec reads. :mod:`~oncelog.apps.export.typed.reading` reads bytes by it. Pure, but for the registry that is asked. What
has no type of its own, such as a union of several types or a type that contains itself, is JSON.
"""
