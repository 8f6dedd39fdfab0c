"""Writes the codecs in ``protocol/generated`` from the tables in ``protocol/schemas``. Not used at run time."""
