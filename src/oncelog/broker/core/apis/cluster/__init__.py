"""APIs of nodes and of the cluster as a whole."""
