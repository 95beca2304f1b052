"""slime: components laid out over slots, from its own command-line arguments."""
