"""Who a caller is: SASL before the first request, and names in certificates."""
