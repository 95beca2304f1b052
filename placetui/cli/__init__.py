"""The command line: one file per command, one table, dispatched on the first argument."""

from __future__ import annotations

from placetui.cli.main import main

__all__ = ["main"]
