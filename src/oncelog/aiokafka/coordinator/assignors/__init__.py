"""Where aiokafka keeps its assignors."""
