"""Commands that ask or change a Ray cluster."""
