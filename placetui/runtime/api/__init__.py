"""Groups of workers from Python."""
