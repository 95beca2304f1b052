"""The configuration as placement reads it: values with their places, interpolation, the `placetui:` section."""
