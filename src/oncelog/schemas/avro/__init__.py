"""Avro's rules, in one place for all who read and write: types, resolution, defaults, unions, values.

Called by the serializers of ``schemas`` and by ``schemas.arrow``. It may import the rest of ``schemas``.
"""
