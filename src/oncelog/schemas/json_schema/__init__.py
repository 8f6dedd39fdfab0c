"""JSON Schemas and their regular expressions, as Python takes them."""
