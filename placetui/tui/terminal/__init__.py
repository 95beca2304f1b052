"""The terminal around the dashboard: what passes to it, signals from it, the browser in its place."""
