"""Screens and dialogs of the dashboard."""
