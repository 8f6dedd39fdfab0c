"""JSON Schemas, and their regular expressions in Python's syntax.

Called by the serializer of JSON Schema and by ``schema_registry.formats``. It imports nothing of oncelog.
"""
