"""Black-box checks of a broker's exactly-once promises, for any broker that speaks Apache Kafka's protocol."""
