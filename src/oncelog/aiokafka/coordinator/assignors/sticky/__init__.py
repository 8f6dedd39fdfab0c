"""aiokafka's package of the sticky assignor, under its name."""
