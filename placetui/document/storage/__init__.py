"""Files on disk: read, saved atomically, and recovered after a crash."""
