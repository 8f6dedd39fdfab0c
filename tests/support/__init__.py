"""What tests and benchmarks start and stand on: Apache Kafka, a Spark cluster, disks that fail, coordinators' hosts."""
