"""Code that runs on the nodes. It is shipped by value and imports nothing else of placetui."""
