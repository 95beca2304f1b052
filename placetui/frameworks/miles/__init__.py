"""Miles: a fork of slime with evaluation engines of their own."""
