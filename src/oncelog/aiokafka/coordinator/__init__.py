"""aiokafka's package that contains its assignors, under the same name."""
