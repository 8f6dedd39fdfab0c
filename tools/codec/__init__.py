"""Writes the codecs in ``protocol/generated`` from the tables in ``tools/codec/schemas``. Not used at run time."""
