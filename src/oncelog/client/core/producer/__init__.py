"""The producer: which batches are sent now, in which request, and what the answers mean."""
