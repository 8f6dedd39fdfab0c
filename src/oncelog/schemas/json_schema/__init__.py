"""JSON Schemas and their regular expressions, as Python takes them.

Called by the serializer of JSON Schema and by ``schema_registry.formats``. It imports nothing of oncelog.
"""
