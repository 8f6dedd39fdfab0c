"""aiokafka's package of partition assignors, under its name."""
