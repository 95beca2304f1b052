"""The live picture of a cluster."""
