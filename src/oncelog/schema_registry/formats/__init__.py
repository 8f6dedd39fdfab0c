"""The three formats of schemas: parsing, canonical texts, and compatibility checks.

Called by the rules through :class:`~oncelog.schema_registry.formats.parsing.Parser`. Each format is a module that is
imported when its first schema is parsed.
"""
