"""Tables of the cluster: their rows, filters and lines."""
