"""What tests and benchmarks start and build on: Apache Kafka, a Spark cluster, disks that fail, coordinators' hosts."""
