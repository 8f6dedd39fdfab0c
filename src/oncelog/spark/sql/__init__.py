"""Topics as SQL tables: ``CREATE TABLE ... USING oncelog OPTIONS (...)``. Called by the data source."""
