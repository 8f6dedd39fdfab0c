"""What requests over HTTP have in common, whoever sends them."""
