"""Avro's rules for all readers and writers: types, resolution, defaults, unions, values.

Called by the serializers of ``schemas`` and by ``schemas.arrow``. It may import the rest of ``schemas``.
"""
