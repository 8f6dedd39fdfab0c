"""``oncelog doctor``: what is checked here, in a cluster, and of a pipeline."""
