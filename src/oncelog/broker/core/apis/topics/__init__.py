"""APIs about topics."""
