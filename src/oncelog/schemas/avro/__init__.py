"""Avro's rules, in one place for all who read and write: types, resolution, defaults, unions, values."""
