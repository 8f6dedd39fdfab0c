"""The producer: which batches are sent when and in which request, and what the answers mean."""
