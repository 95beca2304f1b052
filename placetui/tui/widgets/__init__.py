"""Widgets of the dashboard, one per file."""
