"""What is known of the cluster, and the interface to the network."""
