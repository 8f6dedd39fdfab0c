"""``oncelog lab``: what exactly-once means on the wire, carried out for real and drawn from what was seen."""
