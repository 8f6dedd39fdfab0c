"""The cluster's metadata, and the interface to the network."""
