"""APIs of nodes, and of what holds for all of them."""
