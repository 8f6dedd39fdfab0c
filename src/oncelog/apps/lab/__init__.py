"""``oncelog lab``: shows what exactly-once means on the wire, by running flows and drawing the observed messages."""
