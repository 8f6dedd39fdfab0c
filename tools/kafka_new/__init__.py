"""Lists what a new release of Apache Kafka has and oncelog lacks: ``make kafka-new VERSION=…``."""
