"""Jobs that run: their records, their state, and what can be done with them."""
