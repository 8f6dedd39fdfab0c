"""The three kinds of schemas: parsing, one text for what means the same, and which data a schema can read.

Called by the rules through :class:`~oncelog.schema_registry.formats.parsing.Parser`. Each format is a module that is
imported when its first schema comes.
"""
