"""From a record to a batch: its size, its partition, the queues of batches, and sequence numbers."""
