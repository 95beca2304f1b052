"""The dashboard. The only part of placetui that knows Textual."""
