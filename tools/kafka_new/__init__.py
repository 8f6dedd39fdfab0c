"""What a new release of Apache Kafka has and we lack: ``make kafka-new VERSION=…``."""
